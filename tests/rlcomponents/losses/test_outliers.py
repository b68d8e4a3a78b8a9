"""Tests of rlcomponents.losses.outliers."""

import math

import numpy as np
import pytest

from rlcomponents.losses import outliers


def _rule_after(losses, num_deviations=4.0, **settings):
    rule = outliers.OutlierRule(num_deviations, **settings)
    for loss in losses:
        rule.accept(loss)
    return rule


def _usual_losses(num_batches=2_000):
    """Mean 1, deviation 0.5."""
    return [0.5, 1.5] * (num_batches // 2)


def test_a_single_huge_loss_is_discarded_and_counted():
    rule = _rule_after(_usual_losses())
    assert not rule.accept(100.0)
    assert rule.discarded == 1


@pytest.mark.parametrize(
    ("loss", "accepted"),
    [
        pytest.param(2.9, True, id="below-mean-plus-four-deviations"),  # 1 + 4 * 0.5
        pytest.param(3.1, False, id="above"),
        pytest.param(0.0, True, id="only-the-upper-side-counts"),
        pytest.param(-3.1, False, id="the-sign-does-not"),
    ],
)
def test_the_bound_is_mean_plus_deviations(loss, accepted):
    assert _rule_after(_usual_losses()).accept(loss) is accepted


def test_statistics_are_exact_within_the_horizon():
    losses = np.random.default_rng(0).exponential(size=500)
    rule = _rule_after(losses, 3.0, horizon_batches=500)
    assert rule.threshold == pytest.approx(np.mean(losses) + 3 * np.std(losses))


def test_the_rule_is_idle_for_the_first_batches():
    rule = _rule_after([0.0] * 999)
    assert rule.accept(1e6)  # The 1,000th.
    rule = _rule_after([0.0] * 1_000)
    assert not rule.accept(1e6)  # The 1,001st.


def test_discarded_losses_enter_the_statistics():
    rule = _rule_after(_usual_losses())
    before = rule.threshold
    assert not rule.accept(100.0)
    assert rule.threshold > before


def test_rewards_after_5000_zero_losses_are_accepted_after_61_batches():
    """A new level counts once it weighs 1 / (1 + 4^2) of the statistics.

    m batches at the new level weigh 1 - 0.999^m, and 1 - 0.999^60 < 1 / 17 < 1 -
    0.999^61. So the rule must have seen 61 of them.
    """
    rule = _rule_after([0.0] * 5_000)
    verdicts = [rule.accept(1.0) for _ in range(1_000)]
    assert verdicts == [False] * 61 + [True] * 939


def test_a_learner_learns_from_rewards_that_follow_5000_zero_losses():
    """One value is learned, of a reward that is 0 for a long time, and then 1."""
    rule = outliers.OutlierRule(4.0)
    value = 0.0
    for batch in range(5_200):
        td_error = (0.0 if batch < 5_000 else 1.0) - value
        if rule.accept(0.5 * td_error**2):
            value += 0.1 * td_error
    assert value == pytest.approx(1.0, abs=1e-3)


def test_rewards_too_sparse_for_the_statistics_need_the_bound_on_harmless_losses():
    """One batch in 50 is rarer than 1 / (1 + 4^2): it stays an outlier."""
    losses = ([0.0] * 49 + [0.5]) * 100
    assert _rule_after(losses).discarded > 70  # Of the 80 after the warm-up.
    assert _rule_after(losses, always_accept_below=1.0).discarded == 0
    assert not _rule_after(losses, always_accept_below=1.0).accept(50.0)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("num_batches", [10, 2_000])
def test_a_loss_that_is_not_finite_is_refused_and_leaves_no_trace(loss, num_batches):
    rule = _rule_after(_usual_losses(num_batches))
    before = rule.save()
    assert not rule.accept(loss)
    assert (rule.discarded, rule.discarded_non_finite) == (1, 1)
    assert rule.save() == {**before, "discarded": 1, "discarded_non_finite": 1}


def test_a_restored_rule_goes_on_like_the_saved_one():
    losses = list(np.random.default_rng(0).exponential(size=3_000))
    saved = _rule_after([*losses, math.nan], 2.0)
    restored = outliers.OutlierRule(2.0)
    restored.restore(saved.save())
    assert restored.save() == saved.save()
    verdicts = [(saved.accept(loss), restored.accept(loss)) for loss in losses]
    assert all(a == b for a, b in verdicts)
    assert not all(a for a, _ in verdicts)
    assert restored.save() == saved.save()


@pytest.mark.parametrize(
    "settings",
    [
        {"num_deviations": 0.0},
        {"num_deviations": math.nan},
        {"num_deviations": 4.0, "warmup_batches": -1},
        {"num_deviations": 4.0, "horizon_batches": 1},
        {"num_deviations": 4.0, "always_accept_below": -1.0},
    ],
)
def test_settings_out_of_range_are_refused_by_name_and_value(settings):
    name, value = list(settings.items())[-1]
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        outliers.OutlierRule(**settings)
