"""Tests of rlcomponents.schedules."""

import dataclasses
import math
import pickle

import pytest

from rlcomponents import schedules


def test_a_constant_is_the_same_at_every_count():
    schedule = schedules.Constant(0.05)
    assert [schedule(0), schedule(10**9)] == [0.05, 0.05]


@pytest.mark.parametrize(
    ("count", "value"),
    [
        pytest.param(0, 1.0, id="start"),
        pytest.param(250_000, 0.775, id="a-quarter"),  # 1 - 0.9 / 4
        pytest.param(500_000, 0.55, id="half"),  # 1 - 0.9 / 2
        pytest.param(999_999, 0.1000009, id="last-before-the-horizon"),
    ],
)
def test_a_linear_schedule_is_a_straight_line(count, value):
    schedule = schedules.Linear(1.0, 0.1, 1_000_000)
    assert schedule(count) == pytest.approx(value, rel=1e-12)


def test_a_linear_schedule_may_rise():
    assert schedules.Linear(0.4, 1.0, 10)(5) == pytest.approx(0.7)


@pytest.mark.parametrize("count", [10, 11, 10**12])
def test_from_the_horizon_on_a_linear_schedule_is_exactly_final(count):
    assert schedules.Linear(1.0, 0.1, 10)(count) == 0.1


@pytest.mark.parametrize("count", [0, 1, 10**12])
def test_a_horizon_of_zero_gives_the_final_value_at_once(count):
    assert schedules.Linear(1.0, 0.1, 0)(count) == 0.1


@pytest.mark.parametrize("horizon", [-1, math.nan])
def test_a_negative_horizon_is_refused(horizon):
    with pytest.raises(ValueError, match=f"horizon is {horizon}"):
        schedules.Linear(1.0, 0.1, horizon)


@pytest.mark.parametrize(
    "make",
    [
        lambda: schedules.Constant(math.nan),
        lambda: schedules.Linear(math.inf, 0.1, 10),
        lambda: schedules.Linear(1.0, math.nan, 10),
    ],
)
def test_values_that_are_not_finite_are_refused(make):
    with pytest.raises(ValueError, match="finite"):
        make()


@pytest.mark.parametrize(
    "schedule", [schedules.Constant(0.5), schedules.Linear(1.0, 0.1, 10)]
)
def test_schedules_are_plain_data_that_can_cross_processes(schedule):
    copy = pickle.loads(pickle.dumps(schedule))
    assert copy == schedule
    assert copy(3) == schedule(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.final = 0.0
