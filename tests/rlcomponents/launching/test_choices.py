import math

import pytest

from rlcomponents.launching import choices


@pytest.mark.parametrize(
    ("launch_type", "sentence"),
    [
        ("test_mt", "--lp_launch_type=test_mt is for tests, .*: use local_mp .*"),
        ("vertex_ai", "--lp_launch_type=vertex_ai is not supported: use local_mp .*"),
        ("processes", "--lp_launch_type=processes is not supported: use local_mp .*"),
    ],
)
def test_other_launch_types_are_refused(launch_type, sentence):
    with pytest.raises(ValueError, match=sentence):
        choices.check_launch_type(launch_type)


def test_threads_cannot_be_started_again():
    choices.check_on_failure("stop", "local_mt")
    choices.check_on_failure("restart", "local_mp")
    with pytest.raises(ValueError, match="--on_failure=restart needs nodes in proc"):
        choices.check_on_failure("restart", "local_mt")


def test_another_way_to_take_failures_is_refused():
    with pytest.raises(ValueError, match="--on_failure=retry is not known: use rest"):
        choices.check_on_failure("retry", "local_mp")


@pytest.mark.parametrize("secs", [2.0, 0.0, -1.0, math.nan])
def test_a_hang_timeout_that_no_busy_machine_keeps_is_refused(secs):
    with pytest.raises(ValueError, match=f"--hang_timeout_secs={secs:g} is too short"):
        choices.check_hang_timeout(secs)


def test_a_long_hang_timeout_is_taken_and_so_is_none():
    choices.check_hang_timeout(5.0)
    choices.check_hang_timeout(None)
