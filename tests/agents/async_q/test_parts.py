"""Tests of agents.async_q.parts."""

import collections

import numpy as np
import pytest

from agents.async_q import config as async_q_config
from agents.async_q import parts
from rlcomponents import specs


def make_config(**settings):
    return async_q_config.AsyncQConfig(**{"environment": "catch", **settings})


def spec_of_catch():
    return specs.make_environment_spec(make_config().make_environment_factory()(0))


def make_strategy(index, **settings):
    return parts.make_strategy(make_config(**settings), spec_of_catch(), index)


def test_workers_start_alike_with_a_target_network_like_their_own():
    first, second = make_strategy(0, seed=7), make_strategy(1, seed=7)
    vector = first.variables.vector()
    for variables in (second.variables, first.target_variables):
        np.testing.assert_array_equal(variables.vector(), vector)
    first.variables.assign(vector + 1.0)
    np.testing.assert_array_equal(first.target_variables.vector(), vector)


@pytest.mark.parametrize(
    ("algorithm", "keeps"),
    [("one_step_q", False), ("one_step_sarsa", True), ("n_step_q", False)],
)
def test_the_algorithm_is_the_one_asked_for(algorithm, keeps):
    strategy = make_strategy(0, algorithm=algorithm)
    assert strategy.keeps_next_action == keeps
    assert type(strategy._rule).__name__.lower() == algorithm.replace("_", "")


def test_each_worker_draws_its_own_final_epsilon_again_and_again_the_same(monkeypatch):
    monkeypatch.setattr(parts, "make_network", lambda *_: _Network)
    monkeypatch.setattr(parts.strategies, "QStrategy", _EpsilonOnly)
    drawn = [make_strategy(index, seed=7) for index in range(200)]
    again = [make_strategy(index, seed=7) for index in reversed(range(200))]
    assert drawn == again[::-1]
    shares = collections.Counter(drawn)
    assert shares.keys() == {0.1, 0.01, 0.5}
    assert 60 <= shares[0.1] <= 100  # 80 of 200.


def test_a_worker_that_starts_again_has_the_final_epsilon_that_it_had(monkeypatch):
    monkeypatch.setattr(parts, "make_network", lambda *_: _Network)
    monkeypatch.setattr(parts.strategies, "QStrategy", _EpsilonOnly)
    config, spec = make_config(seed=7), spec_of_catch()
    lives = [
        [parts.make_strategy(config, spec, index, life) for index in range(20)]
        for life in range(3)
    ]
    assert lives[0] == lives[1] == lives[2]
    assert len(set(lives[0])) == 3


def test_exploration_over_no_steps_is_the_final_one_at_once():
    strategy = make_strategy(0, final_epsilon=0.25, epsilon_horizon_steps=0)
    assert strategy.epsilon == 0.25


_Network = None


def _EpsilonOnly(network, target_network, rule, *, epsilon, rng):
    """Stands in for a strategy: returns where its exploration ends."""
    assert epsilon(0) == 1.0
    return epsilon(10**9)


def test_a_final_epsilon_that_is_given_is_everybodys():
    for index in range(2):
        strategy = make_strategy(
            index, final_epsilon=0.25, initial_epsilon=0.5, epsilon_horizon_steps=100
        )
        assert strategy.epsilon == 0.5
        strategy.set_progress(100)
        assert strategy.epsilon == 0.25


def test_the_player_explores_as_evaluation_asks_for():
    config = make_config(evaluation_epsilon=1.0)
    player = parts.make_player(config, spec_of_catch())
    observation = np.zeros((10, 5), np.float32)
    actions = {int(player.actor.select_action(observation)) for _ in range(50)}
    assert actions == {0, 1, 2}
