import pytest

from rlcomponents.launching import processes, watched


@pytest.fixture
def wake():
    made = watched.Wake()
    yield made
    made.close()


def test_a_process_that_is_closed_leaves_nothing(toy, run_dir, wake):
    path = run_dir.path / "is_deaf.log"
    program = toy.build(run_dir.path, "is_deaf")
    [node] = program.get_all_nodes()
    process = processes.NodeProcess("is_deaf/0", node.function, path, wake, {})
    process.start()
    process.close()
    assert process.ended
    assert process.failure is None


def test_a_process_that_never_started_can_be_closed(run_dir, wake):
    process = processes.NodeProcess("a/0", print, run_dir.path / "a.log", wake, {})
    process.close()


@pytest.mark.parametrize(
    ("exit_code", "cause", "by_signal"),
    [
        (3, "ended with exit code 3", False),
        (-11, "was ended by signal SIGSEGV", True),
        (-40, "was ended by signal 40", True),
    ],
)
def test_an_exit_code_is_put_into_words(exit_code, cause, by_signal):
    assert processes._failure_of(exit_code)[:3] == (cause, (), by_signal)
