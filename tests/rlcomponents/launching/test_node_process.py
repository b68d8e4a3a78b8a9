import os
import subprocess
import sys


def test_a_process_whose_launcher_is_gone_ends_at_once():
    control, control_writer = os.pipe()
    status_reader, status = os.pipe()
    not_the_parent = os.getpid() + 1
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rlcomponents.launching.node_process", "a/0"),
            *(str(control), str(status), str(not_the_parent), "0"),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=(control, status),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    for descriptor in (control, control_writer, status_reader, status):
        os.close(descriptor)
