"""Tests of rlcomponents.exploration."""

import numpy as np
import pytest

from rlcomponents import exploration
from rlcomponents.networks import policies


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_epsilon_zero_takes_the_best_action(rng):
    q_values = np.array([0.0, 3.0, 2.0])
    actions = {exploration.epsilon_greedy(q_values, 0.0, rng) for _ in range(100)}
    assert actions == {1}


def test_of_equal_values_the_first_is_the_best(rng):
    assert exploration.epsilon_greedy(np.array([1.0, 2.0, 2.0]), 0.0, rng) == 1


@pytest.mark.parametrize("num_rows", [None, 40_000])
def test_the_best_action_is_taken_with_probability_one_minus_three_quarters_epsilon(
    rng, num_rows
):
    """Epsilon 0.4 over four actions: 0.1 for each, and 0.6 more for the best."""
    q_values = np.array([0.0, 0.0, 5.0, 1.0])
    if num_rows is None:
        actions = [
            exploration.epsilon_greedy(q_values, 0.4, rng) for _ in range(40_000)
        ]
    else:
        actions = exploration.epsilon_greedy(np.tile(q_values, [num_rows, 1]), 0.4, rng)
    shares = np.bincount(actions, minlength=4) / 40_000
    # One standard deviation is at most sqrt(0.7 * 0.3 / 40,000) = 0.0023.
    np.testing.assert_allclose(shares, [0.1, 0.1, 0.7, 0.1], atol=0.01)


def test_rows_of_a_batch_explore_independently(rng):
    """With epsilon 1/2 the rows must not all explore, or all exploit, together."""
    q_values = np.tile([1.0] + [0.0] * 99, [64, 1])
    greedy = exploration.epsilon_greedy(q_values, 0.5, rng) == 0
    assert 16 < greedy.sum() < 48


def test_one_row_gives_an_int_and_a_batch_gives_int32(rng):
    assert isinstance(exploration.epsilon_greedy(np.zeros(3), 0.5, rng), int)
    batch = exploration.epsilon_greedy(np.zeros([7, 3]), 0.5, rng)
    assert (batch.shape, batch.dtype) == ((7,), np.int32)


def test_one_seed_gives_one_sequence_of_actions():
    first, second = (
        [exploration.epsilon_greedy(np.arange(9), 0.5, rng) for _ in range(50)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert first == second


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_an_epsilon_that_is_no_probability_is_refused(rng, epsilon):
    with pytest.raises(ValueError, match="epsilon is"):
        exploration.epsilon_greedy(np.zeros(3), epsilon, rng)


def test_a_rank_that_is_neither_is_refused(rng):
    with pytest.raises(ValueError, match="shape"):
        exploration.epsilon_greedy(np.zeros([2, 3, 4]), 0.1, rng)


def test_final_epsilons_of_asynchronous_learners_have_the_published_shares(rng):
    draws = [exploration.async_final_epsilon(rng) for _ in range(10_000)]
    shares = [np.mean(np.equal(draws, value)) for value in (0.1, 0.01, 0.5)]
    # One standard deviation is sqrt(0.4 * 0.6 / 10,000) = 0.005.
    np.testing.assert_allclose(shares, [0.4, 0.3, 0.3], atol=0.02)


def test_epsilons_of_actors_spread_from_the_first_downwards():
    epsilons = [exploration.spread_epsilon(0.5, i, 3, exponent=2.0) for i in range(3)]
    assert epsilons == [0.5, 0.25, 0.125]  # 0.5 to the power of 1, 2 and 3.


def test_epsilons_of_actors_have_the_published_range_by_default():
    assert exploration.spread_epsilon(0.4, 0, 360) == pytest.approx(0.4)
    assert exploration.spread_epsilon(0.4, 359, 360) == pytest.approx(0.4**8)


def test_a_single_actor_gets_the_epsilon_as_it_is():
    assert exploration.spread_epsilon(0.4, 0, 1) == 0.4


def test_greedy_actors_stay_greedy_however_they_are_spread():
    assert exploration.spread_epsilon(0.0, 2, 3) == 0.0


@pytest.mark.parametrize(("index", "num_actors"), [(-1, 2), (2, 2), (0, 0)])
def test_actors_that_do_not_exist_have_no_epsilon(index, num_actors):
    with pytest.raises(ValueError, match="count from 0"):
        exploration.spread_epsilon(0.4, index, num_actors)


def test_discrete_actions_are_drawn_with_the_probabilities_of_the_policy(rng):
    """Logits may be shifted by any constant."""
    logits = np.log([0.5, 0.3, 0.2]).astype(np.float32) + 7.0
    policy = policies.Softmax(np.tile(logits, [40_000, 1]))
    shares = np.bincount(exploration.sample(policy, rng), minlength=3) / 40_000
    # One standard deviation is at most sqrt(0.5 * 0.5 / 40,000) = 0.0025.
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.01)


def test_an_action_of_probability_zero_is_never_drawn(rng):
    policy = policies.Softmax(np.tile([0.0, -np.inf, 0.0], [1_000, 1]))
    assert set(exploration.sample(policy, rng)) == {0, 2}


def test_huge_logits_are_no_problem(rng):
    policy = policies.Softmax(np.float32([[3e38, -3e38], [-3e38, 3e38]]))
    np.testing.assert_array_equal(exploration.sample(policy, rng), [0, 1])


def test_continuous_actions_have_the_mean_and_the_variance_of_the_policy(rng):
    mean = np.tile(np.float32([1.0, -2.0]), [40_000, 1])
    variance = np.full([40_000], 4.0, np.float32)
    actions = exploration.sample(policies.Gaussian(mean, variance), rng)
    # One standard deviation of each mean is 2 / sqrt(40,000) = 0.01.
    np.testing.assert_allclose(actions.mean(axis=0), [1.0, -2.0], atol=0.04)
    np.testing.assert_allclose(actions.var(axis=0), [4.0, 4.0], rtol=0.04)
    assert abs(np.corrcoef(actions.T)[0, 1]) < 0.03


def test_each_row_of_a_batch_has_its_own_variance(rng):
    """No broadcasting of variances over the wrong axis, where B is D."""
    policy = policies.Gaussian(np.zeros([2, 2], np.float32), np.float32([0.0, 9.0]))
    actions = exploration.sample(policy, rng)
    np.testing.assert_array_equal(actions[0], [0.0, 0.0])
    assert np.all(actions[1] != 0.0)


@pytest.mark.parametrize("batch", [(), (7,), (1, 7)])
def test_actions_have_the_leading_axes_of_the_policy(rng, batch):
    softmax = policies.Softmax(np.zeros([*batch, 3], np.float32))
    gaussian = policies.Gaussian(
        np.zeros([*batch, 2], np.float32), np.ones(batch, np.float32)
    )
    for act in (lambda policy: exploration.sample(policy, rng), exploration.mode):
        discrete, continuous = act(softmax), act(gaussian)
        assert (discrete.shape, discrete.dtype) == (batch, np.int32)
        assert (continuous.shape, continuous.dtype) == ((*batch, 2), np.float32)


def test_the_mode_is_the_likeliest_action():
    softmax = policies.Softmax(np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]]))
    np.testing.assert_array_equal(exploration.mode(softmax), [1, 0])
    gaussian = policies.Gaussian(np.float32([[0.5, -4.0]]), np.float32([9.0]))
    np.testing.assert_array_equal(exploration.mode(gaussian), [[0.5, -4.0]])


def test_one_seed_gives_one_sequence_of_draws():
    policy = policies.Softmax(np.zeros(9))
    first, second = (
        [int(exploration.sample(policy, rng)) for _ in range(50)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert first == second
    assert len(set(first)) > 1


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (policies.Softmax(np.array([0.0, np.nan])), "logits"),
        (policies.Gaussian(np.array([np.nan]), np.array(1.0)), "mean"),
        (policies.Gaussian(np.array([0.0]), np.array(np.nan)), "variance"),
    ],
)
def test_a_policy_that_is_not_a_number_is_refused(rng, policy, field):
    for act in (lambda policy: exploration.sample(policy, rng), exploration.mode):
        with pytest.raises(ValueError, match=f"The {field} of the policy is not a num"):
            act(policy)
