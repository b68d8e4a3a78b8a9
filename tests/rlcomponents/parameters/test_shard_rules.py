"""What is too old, and when a target copy is due."""

import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import shard_rules, update_rules


def make_rules(**settings):
    settings = {
        "update_rule": update_rules.SGD(),
        "learning_rate": schedules.Constant(1.0),
        "max_staleness_updates": None,
        "target_period_updates": None,
        "target_period_steps": None,
        **settings,
    }
    return shard_rules.ShardRules(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.1}, r"learning_rate is 0\.1: give a schedule"),
        ({"max_staleness_updates": -1}, "max_staleness_updates is -1: give 0 or more"),
        ({"target_period_updates": 0}, "target_period_updates is 0: give 1 or more"),
        ({"target_period_steps": 0}, "target_period_steps is 0: give 1 or more"),
        (
            {"target_period_updates": 3, "target_period_steps": 5},
            "target_period_updates is 3 and target_period_steps is 5: give one",
        ),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_rules(**settings)


@pytest.mark.parametrize(
    ("settings", "phases"),
    [
        ({"target_period_updates": 3}, [0, 0, 1, 33]),
        ({"target_period_steps": 10}, [0, 4, 4, 4]),
        ({}, [0, 0, 0, 0]),
    ],
)
def test_the_target_phase_counts_the_periods_left_behind(settings, phases):
    rules = make_rules(**settings)
    counts = [(9, 2), (40, 2), (49, 3), (49, 100)]  # Steps, updates.
    assert [rules.target_phase(steps=s, updates=u) for s, u in counts] == phases
    assert rules.keeps_target == bool(settings)


@pytest.mark.parametrize(
    ("version", "judgement"),
    [
        ((1, 10), (core.Verdict.APPLIED, 0)),
        ((1, 8), (core.Verdict.APPLIED, 2)),
        ((1, 7), (core.Verdict.STALE, 3)),
        ((0, 10), (core.Verdict.OTHER_EPOCH, 0)),
        ((0, 99), (core.Verdict.OTHER_EPOCH, 0)),
    ],
)
def test_gradients_are_judged_by_age(version, judgement):
    rules = make_rules(max_staleness_updates=2)
    assert rules.judge(core.Version(*version), core.Version(1, 10)) == judgement
