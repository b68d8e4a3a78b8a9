import sys

import dm_env
import numpy as np
import pytest
from dm_env import specs

from agents import environment_check
from agents.dqn import config as dqn_config


class Game(dm_env.Environment):
    """A user's own: the observation is the step, the reward a script."""

    def __init__(self, *, shape=(2,), actions=None, reward=1.0):
        self.closed = False
        self.num_steps = 0
        self._shape = shape
        self._actions = actions or specs.DiscreteArray(2)
        self._reward = reward

    def reset(self):
        return dm_env.restart(np.zeros(self._shape, np.float32))

    def step(self, action):
        self.num_steps += 1
        observation = np.full(self._shape, self.num_steps, np.float32)
        return dm_env.transition(self._reward, observation, 1.0)

    def observation_spec(self):
        return specs.Array(self._shape, np.float32)

    def action_spec(self):
        return self._actions

    def close(self):
        self.closed = True


@pytest.fixture
def check(monkeypatch):
    """Checks a game as if a user had brought it."""

    def check(game, **settings):
        monkeypatch.setattr(sys.modules[__name__], "make", lambda seed: game, False)
        monkeypatch.setitem(sys.modules, "users_games", sys.modules[__name__])
        config = dqn_config.DQNConfig(environment="module:users_games:make", **settings)
        environment_check.check_environment(config)

    return check


def test_a_users_own_environment_is_played_and_closed(check):
    game = Game()
    check(game)
    assert game.num_steps > 10
    assert game.closed


def test_an_environment_of_the_library_is_only_built():
    environment_check.check_environment(dqn_config.DQNConfig(environment="catch"))


def test_a_fault_that_shows_in_play_is_refused_and_the_game_closed(check):
    game = Game(reward=float("nan"))
    with pytest.raises(ValueError, match="The reward is nan at step 1"):
        check(game)
    assert game.closed


def test_actions_that_cannot_be_counted_are_refused(check):
    game = Game(actions=specs.BoundedArray((1,), np.float32, -1.0, 1.0))
    with pytest.raises(ValueError, match="finite number of actions"):
        check(game)


def test_a_network_that_does_not_fit_the_environment_is_refused(check):
    with pytest.raises(ValueError, match=r"'minatar' .* shape \(2,\): use 'mlp'"):
        check(Game(), network="minatar")


def test_a_torso_of_the_users_own_that_does_not_fit_is_refused(check, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "make_none", lambda _: None, False)
    with pytest.raises(ValueError, match="make_none returned a NoneType"):
        check(Game(), network="module:users_games:make_none")


def test_a_torso_of_the_users_own_is_made_for_what_the_environment_shows(
    check, monkeypatch
):
    import sonnet as snt  # TensorFlow: only where it is needed.

    shown = []

    def make_torso(environment_spec):
        shown.append(environment_spec.observations.shape)
        return snt.Sequential([snt.Flatten(), snt.Linear(3)])

    monkeypatch.setattr(sys.modules[__name__], "make_torso", make_torso, False)
    check(Game(), network="module:users_games:make_torso")
    assert set(shown) == {(2,)}
