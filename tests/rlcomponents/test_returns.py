"""Tests of rlcomponents.returns."""

import numpy as np
import pytest

from rlcomponents import returns


def test_a_terminal_reward_reaches_every_step():
    result = returns.n_step_return(
        rewards=np.array([0.0, 0.0, 1.0]),
        discounts=np.array([0.9, 0.9, 0.0]),
        bootstrap=100.0,  # Must not count: the episode has ended.
    )
    np.testing.assert_allclose(result, [0.81, 0.9, 1.0], rtol=1e-6)


def test_truncation_is_not_termination():
    """A time limit bootstraps from the next value, 10; a termination does not."""
    cut = returns.n_step_return(np.array([1.0]), np.array([0.9]), 10.0)
    ended = returns.n_step_return(np.array([1.0]), np.array([0.0]), 10.0)
    np.testing.assert_allclose([cut[0], ended[0]], [10.0, 1.0], rtol=1e-6)


def test_nothing_crosses_the_end_of_an_episode_inside_a_rollout():
    result = returns.n_step_return(
        rewards=np.array([1.0, 2.0, 100.0]),
        discounts=np.array([0.5, 0.0, 0.5]),
        bootstrap=8.0,
    )
    # 1 + 0.5 * 2; 2; 100 + 0.5 * 8.
    np.testing.assert_allclose(result, [2.0, 2.0, 104.0], rtol=1e-6)


def test_batches_match_a_sum_written_out_for_each_step():
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(5, 3))
    discounts = rng.choice([0.0, 0.9], p=[0.3, 0.7], size=(5, 3))
    bootstrap = rng.normal(size=3)

    result = returns.n_step_return(rewards, discounts, bootstrap)

    # G_i = sum_k (prod_{j=i}^{k-1} discount_j) r_k + (prod_{j=i}^{T-1} discount_j) v
    for i in range(5):
        for b in range(3):
            expected, weight = 0.0, 1.0
            for k in range(i, 5):
                expected += weight * rewards[k, b]
                weight *= discounts[k, b]
            expected += weight * bootstrap[b]
            np.testing.assert_allclose(result[i, b], expected, rtol=1e-5, atol=1e-6)


def test_returns_are_float32_and_the_arguments_are_left_alone():
    rewards = np.ones(3, np.float32)
    bootstrap = np.full((), 2.0, np.float32)
    result = returns.n_step_return(rewards, np.ones(3), bootstrap)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(rewards, np.ones(3))
    assert bootstrap == 2.0


@pytest.mark.parametrize(
    ("discounts", "bootstrap"),
    [
        pytest.param(np.ones(3), np.ones(2), id="discounts-without-batch"),
        pytest.param(np.ones((3, 2)), 1.0, id="bootstrap-without-batch"),
        pytest.param(np.ones((2, 2)), np.ones(2), id="other-length"),
    ],
)
def test_shapes_that_would_broadcast_are_refused(discounts, bootstrap):
    with pytest.raises(ValueError, match="do not fit"):
        returns.n_step_return(np.ones((3, 2)), discounts, bootstrap)
