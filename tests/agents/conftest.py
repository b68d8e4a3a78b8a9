"""What the tests of agents share: patience, and a small game for transcriptions."""

import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents.environments import checker, time_steps
from rlcomponents.learners import dqn

NUM_ACTIONS = 3


class Ring(dm_env.Environment):
    """Five places in a ring, each seen as a vector; actions go 1, 2 or 3 places on.

    Nothing is random. Games have 7 steps; every third game is cut there, the others
    terminate.
    """

    def __init__(self):
        rng = np.random.default_rng(3)
        self._views = rng.normal(size=(5, 4)).astype(np.float32)
        self._rewards = rng.normal(size=(5, NUM_ACTIONS)).astype(np.float32)
        self._game = self._place = self._step = 0

    def reset(self):
        self._game += 1
        self._place, self._step = self._game % 5, 0
        return dm_env.restart(self._views[self._place])

    def step(self, action):
        checker.check_action(action, NUM_ACTIONS)
        reward = self._rewards[self._place, action]
        self._place = (self._place + int(action) + 1) % 5
        self._step += 1
        view = self._views[self._place]
        if self._step < 7:
            return time_steps.transition(reward, view)
        if self._game % 3 == 0:
            return time_steps.truncation(reward, view)
        return time_steps.termination(reward, view)

    def observation_spec(self):
        return specs.Array((4,), np.float32)

    def action_spec(self):
        return specs.DiscreteArray(NUM_ACTIONS)

    def reward_spec(self):
        return time_steps.reward_spec()

    def discount_spec(self):
        return time_steps.discount_spec()


@pytest.fixture
def make_ring():
    """Makes such a game."""
    return Ring


@pytest.fixture
def patient_learners(monkeypatch):
    """Lets learners wait for a batch as long as it takes on a loaded machine.

    For tests that count gradients: a learner skips one whose batch comes too late.
    """
    defaults = dqn.DQNLearner.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "batch_timeout_secs", 60.0)
