import io
import os
import sys
import threading

from rlcomponents.launching import threads


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_output_is_parted_by_thread(capsys):
    node, others = io.StringIO(), io.StringIO()
    output = threads.Output(others)

    def run_node():
        with output.sent_to(node):
            print("of the node")
            print("its error", file=sys.stderr)

    with output.parted():
        in_thread(run_node)
        in_thread(lambda: print("of another thread"))
        print("of the launcher")
    assert node.getvalue() == "of the node\nits error\n"
    assert others.getvalue() == "of another thread\n"
    assert capsys.readouterr() == ("of the launcher\n", "")


def test_what_native_code_prints_goes_to_a_file_and_python_to_the_screen(
    tmp_path, capfd
):
    path = tmp_path / "native.log"
    with (
        path.open("w", buffering=1) as file,
        threads.native_stderr_sent_to(file),
    ):
        os.write(2, b"native\n")  # As C++ does: past Python's stream.
        print("python", file=sys.stderr)
    os.write(2, b"native again\n")
    assert path.read_text() == "native\n"
    assert capfd.readouterr().err == "python\nnative again\n"


def test_a_stream_kept_by_a_thread_left_behind_still_works(capsys):
    output = threads.Output(io.StringIO())
    with output.parted():
        kept = sys.stdout
    in_thread(lambda: print("late", file=kept))
    assert capsys.readouterr().out == "late\n"


def test_tensorflow_gets_one_operation_a_node_at_the_same_time(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "1")
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    with threads.cores_shared(5):
        assert os.environ["TF_NUM_INTRAOP_THREADS"] == "1"
        assert os.environ["TF_NUM_INTEROP_THREADS"] == "5"
    assert "TF_NUM_INTRAOP_THREADS" not in os.environ
    assert os.environ["TF_NUM_INTEROP_THREADS"] == "1"
