"""Tests of rlcomponents.replay.n_step."""

import pytest

from rlcomponents.replay import n_step

MID, TERMINATION, TRUNCATION = (1.0, False), (0.0, True), (1.0, True)


def _items(returns, *steps):
    """Actions are numbered 0, 1, 2..."""
    items = []
    for action, (reward, (discount, last)) in enumerate(steps):
        items += returns.add(action, reward, discount, last=last)
    return items


def test_n_step_returns_do_not_run_over_a_cut():
    returns = n_step.NStepReturns(3, 0.5)
    first = _items(returns, (1.0, MID), (2.0, TRUNCATION))
    second = _items(returns, (100.0, MID), (100.0, TRUNCATION))
    assert first == [
        (2, 0, 2.0, 0.25),  # 1 + 0.5 * 2; gamma^2 remains.
        (1, 1, 2.0, 0.5),
    ]
    assert second == [(2, 0, 150.0, 0.25), (1, 1, 100.0, 0.5)]


def test_the_tail_of_an_episode_is_flushed():
    items = _items(n_step.NStepReturns(3, 0.5), (1.0, MID), (4.0, TERMINATION))
    assert items == [(2, 0, 3.0, 0.0), (1, 1, 4.0, 0.0)]  # r0 + gamma r1, then r1.


def test_an_item_comes_once_n_steps_are_there():
    returns = n_step.NStepReturns(2, 0.5)
    assert returns.add(7, 1.0, 1.0, last=False) == []
    assert returns.add(8, 2.0, 1.0, last=False) == [(2, 7, 2.0, 0.25)]
    assert returns.add(9, 4.0, 1.0, last=False) == [(2, 8, 4.0, 0.25)]


@pytest.mark.parametrize("num_steps", [1, 5])
def test_one_step_episodes_give_one_item_each(num_steps):
    returns = n_step.NStepReturns(num_steps, 0.9)
    for _ in range(3):
        assert _items(returns, (2.0, TERMINATION)) == [(1, 0, 2.0, 0.0)]


def test_truncation_is_not_termination():
    returns = n_step.NStepReturns(1, 0.9)
    [truncated] = _items(returns, (1.0, TRUNCATION))
    [terminated] = _items(returns, (1.0, TERMINATION))
    best_next_value = 10.0
    assert truncated.reward + truncated.discount * best_next_value == 10.0
    assert terminated.reward + terminated.discount * best_next_value == 1.0


def test_rewards_are_clipped_one_by_one_before_they_are_summed():
    returns = n_step.NStepReturns(3, 0.5, max_abs_reward=1.0)
    [first, *_] = _items(returns, (5.0, MID), (-3.0, MID), (0.5, TRUNCATION))
    assert first.reward == 1.0 - 0.5 * 1.0 + 0.25 * 0.5


def test_the_environments_own_discounts_multiply():
    [item, _] = _items(
        n_step.NStepReturns(2, 0.5), (1.0, (0.8, False)), (1.0, (0.6, True))
    )
    assert item.reward == pytest.approx(1.0 + 0.5 * 0.8)
    assert item.discount == pytest.approx(0.5 * 0.8 * 0.5 * 0.6)


def test_reset_forgets_the_unfinished_episode():
    returns = n_step.NStepReturns(2, 0.5)
    returns.add(0, 100.0, 1.0, last=False)
    returns.reset()
    assert _items(returns, (1.0, MID), (1.0, MID)) == [(2, 0, 1.5, 0.25)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_steps": 0, "discount": 0.9}, "num_steps is 0"),
        ({"num_steps": 1, "discount": 1.1}, "discount is 1.1"),
        ({"num_steps": 1, "discount": 0.9, "max_abs_reward": 0.0}, "max_abs_reward"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        n_step.NStepReturns(**settings)
