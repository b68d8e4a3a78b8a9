"""Tests of rlcomponents.exploration."""

import numpy as np
import pytest

from rlcomponents import exploration


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
