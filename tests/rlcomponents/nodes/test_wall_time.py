"""Tests of telling how long a run has taken from the coordinator's rows."""

import pytest

from rlcomponents.nodes import wall_time
from rlcomponents.runs import metrics
from rlcomponents.testing import fakes


class Program:
    """A coordinator's rows, and a clock."""

    def __init__(self, path):
        self.path = path / "program.csv"
        self.clock = fakes.ManualClock(1_000.0)

    def row(self, wall_secs):
        writer = metrics.MetricsWriter(self.path, metrics.PROGRAM_COLUMNS)
        writer.write({"time_secs": self.clock.secs, "wall_secs": wall_secs})
        writer.close()

    def look_from_now_on(self, secs_since=lambda time_secs: 0.0):
        return wall_time.WallTime(self.path, secs_since=secs_since, now=self.clock)


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


def test_time_begins_where_the_coordinators_does(program):
    secs = program.look_from_now_on()
    assert secs() == 0.0  # Nobody has seen a step.
    program.row(0.0)
    program.clock.secs += 0.5
    assert secs() == 0.5
    program.clock.secs += 0.5
    program.row(1.0)
    program.clock.secs += 0.25
    assert secs() == 1.25
    program.clock.secs += 20.0  # A coordinator that is away.
    assert secs() == 21.25


def test_a_node_that_is_ready_late_has_the_zero_of_the_others(program):
    program.row(0.0)
    program.clock.secs += 8.0
    program.row(8.0)
    secs = program.look_from_now_on()
    assert secs() == 8.0
    program.clock.secs += 1.0
    program.row(9.0)
    program.clock.secs += 0.5
    assert secs() == 9.5


def test_the_time_between_a_run_and_its_resumption_does_not_count(program):
    program.row(7.0)
    program.clock.secs += 1_000.0
    secs = program.look_from_now_on()
    program.clock.secs += 30.0  # Nodes start.
    assert secs() == 7.0
    program.row(8.0)  # The run has gone on.
    program.clock.secs += 0.5
    assert secs() == 8.5


def test_the_time_in_which_a_node_was_not_there_counts(program):
    program.row(7.0)
    program.clock.secs += 5.0
    secs = program.look_from_now_on(lambda time_secs: program.clock.secs - time_secs)
    assert secs() == 12.0


def test_time_never_falls_below_the_coordinators_where_the_clock_is_set_back(program):
    secs = program.look_from_now_on()
    program.row(7.0)
    program.clock.secs -= 100.0
    assert secs() == 7.0


def test_of_many_rows_the_last_alone_tells_the_time(program):
    program.row(1.0)
    header, _ = program.path.read_text().splitlines()
    program.path.write_text(f"{header}\nno row\n")  # Reading it would fail.
    program.row(7.0)
    secs = program.look_from_now_on()
    assert secs() == 7.0
    program.row(8.0)
    program.row(9.0)
    assert secs() == 9.0
