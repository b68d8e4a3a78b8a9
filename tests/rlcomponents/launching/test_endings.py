import pytest

from rlcomponents.launching import endings


@pytest.fixture
def log_path(tmp_path):
    return tmp_path / "learner-0.log"


def test_a_traceback_ends_with_its_last_frames(log_path):
    log_path.write_text("of no interest\n")
    lines = [f"line {number}" for number in range(30)]
    text = endings.describe_failure(
        "learner/0", endings.Failure("failed: ValueError: no", lines), log_path, 0
    )
    assert text.splitlines() == [
        "learner/0 failed: ValueError: no",
        "Last frames of its traceback:",
        *lines[-12:],
        f"Log file of learner/0: {log_path}",
    ]


def test_without_a_traceback_the_log_of_this_run_speaks(log_path):
    log_path.write_text("of the run before\nof this run\n")
    failure = endings.Failure("was ended by signal SIGKILL", by_signal=True)
    start_bytes = len("of the run before\n")
    text = endings.describe_failure("learner/0", failure, log_path, start_bytes)
    assert text.splitlines() == [
        "learner/0 was ended by signal SIGKILL",
        "Last lines of its log:",
        "of this run",
        f"Log file of learner/0: {log_path}",
    ]


def test_only_the_end_of_a_long_log_is_shown(log_path):
    log_path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    text = endings.describe_failure("a/0", endings.Failure("died"), log_path, 0)
    assert text.splitlines()[2:-1] == [f"line {n}" for n in range(99_988, 100_000)]


def test_an_empty_log_is_said_to_be_empty(log_path):
    log_path.touch()
    text = endings.describe_failure("a/0", endings.Failure("died"), log_path, 0)
    assert text.splitlines()[1] == "Its log is empty."


def test_a_log_that_is_gone_does_not_hide_the_death(log_path):
    text = endings.describe_failure("a/0", endings.Failure("died"), log_path, 0)
    assert text.splitlines()[0] == "a/0 died"
    assert text.splitlines()[2] == "(cannot be read: No such file or directory)"
