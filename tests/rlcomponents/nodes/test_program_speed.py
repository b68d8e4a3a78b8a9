"""Tests of the speed of a program."""

from rlcomponents import core
from rlcomponents.nodes import program_speed


def note(speed, secs, steps, *, is_starting=False):
    speed.note(
        secs, core.StoreStatistics(steps, 2 * steps, 0, 0.0), is_starting=is_starting
    )


def test_a_new_run_begins_with_its_first_step():
    speed = program_speed.ProgramSpeed(wall_secs=None)
    note(speed, 100.0, 0, is_starting=True)
    note(speed, 130.0, 0, is_starting=True)
    note(speed, 135.0, 50)
    assert speed.wall_secs == 5.0
    assert speed.overall_rates() == (10.0, 20.0)


def test_a_run_that_goes_on_has_the_time_before_and_not_that_between():
    speed = program_speed.ProgramSpeed(wall_secs=15.0)
    note(speed, 1_000.0, 50, is_starting=True)
    note(speed, 1_030.0, 50, is_starting=True)
    assert speed.wall_secs == 15.0
    note(speed, 1_035.0, 100)
    assert speed.wall_secs == 20.0
    assert speed.overall_rates() == (5.0, 10.0)


def test_the_rate_of_now_is_that_of_the_last_seconds():
    speed = program_speed.ProgramSpeed(wall_secs=None)
    for secs in range(40):
        note(speed, float(secs), 10 * min(secs, 20))
    assert speed.recent_rates() == (0.0, 0.0)
    assert speed.overall_rates() == (10.0, 20.0)
