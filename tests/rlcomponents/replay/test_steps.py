"""Tests of rlcomponents.replay.steps; what replays make of it, their contract tests."""

import json

import dm_env
import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import states
from rlcomponents.replay import n_step, steps

SCALAR = dm_env_specs.Array((), np.float32)


@pytest.fixture
def make(make_spec):
    def make_steps(**settings):
        values = {"num_steps": 2, "discount": 0.5, "max_abs_reward": None}
        return steps.EpisodeSteps(make_spec(SCALAR), **values | settings)

    return make_steps


def _next(episode, reward, observation=0.0):
    timestep = dm_env.transition(reward, np.float32(observation))
    return episode.next(3, timestep, ()).items


def _first(episode):
    return episode.first(dm_env.restart(np.float32(0)))


def test_a_step_is_its_observation_and_the_items_that_end_in_it(make):
    episode = make()
    assert _first(episode) == [0.0]
    assert _next(episode, 1.0) == []
    step = episode.next(1, dm_env.termination(4.0, np.float32(9)), ())
    assert step.leaves == [9.0]
    assert step.items == [
        n_step.NStepItem(2, 3, 1.0 + 0.5 * 4.0, 0.0),
        n_step.NStepItem(1, 1, 4.0, 0.0),
    ]
    assert not episode.in_episode


def test_a_step_that_is_refused_changes_nothing(make):
    episode = make()
    _first(episode)
    _next(episode, 1.0)
    with pytest.raises(ValueError, match="Episode 1, step 2: reward is nan"):
        _next(episode, np.nan)
    assert _next(episode, 2.0) == [n_step.NStepItem(2, 3, 2.0, 0.25)]


def test_an_episode_goes_on_from_where_it_was_saved(make):
    saved, restored = make(), make()
    _first(saved)
    _next(saved, 1.0)
    text = json.dumps(states.to_json(saved.save()))
    restored.restore(states.from_json(json.loads(text)))
    assert restored.in_episode
    assert _next(restored, 2.0) == _next(saved, 2.0) != []
    with pytest.raises(ValueError, match="Episode 1, step 3"):
        _next(restored, np.nan)


@pytest.mark.parametrize("other", [{"num_steps": 3}, {"discount": 0.9}])
def test_an_episode_of_other_returns_is_not_gone_on_with(make, other):
    saved, restored = make(), make(**other)
    _first(saved)
    _next(saved, 1.0)
    restored.restore(saved.save())
    assert not restored.in_episode
