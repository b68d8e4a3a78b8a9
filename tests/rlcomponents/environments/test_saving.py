import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents.environments import atari, catch, minatar, registry, saving, wrappers


class _Unsaved(dm_env.Environment):
    """A user's environment, which cannot save itself."""

    def reset(self):
        return dm_env.restart(np.zeros(2))

    def step(self, action):
        return dm_env.transition(0.0, np.zeros(2))

    def observation_spec(self):
        return specs.Array((2,), np.float64)

    def action_spec(self):
        return specs.BoundedArray((), np.int64, -1, 1)


def test_an_environment_that_cannot_save_itself_says_so_through_all_wrappers():
    environment = _Unsaved()
    assert saving.save(environment) is None
    environment = wrappers.FrameStack(wrappers.adapt(environment), 2)
    assert saving.save(wrappers.StepLimit(environment, 10)) is None


def test_a_wrapped_environment_goes_on_with_its_stack_and_its_limit():
    def make(seed):
        inside = catch.Catch(catch.CatchSettings(rows=3, columns=3), seed)
        flat = _Row(inside)
        return wrappers.StepLimit(wrappers.FrameStack(flat, 3), 6)

    first, second = make(1), make(2)
    first.reset()
    for _ in range(4):
        first.step(2)
    saving.restore(second, saving.save(first))
    for _ in range(20):
        _assert_same(first.step(0), second.step(0))


class _Row(wrappers.EnvironmentWrapper):
    """Shows the lowest row of a board only."""

    def reset(self):
        return self._cut(self._environment.reset())

    def step(self, action):
        return self._cut(self._environment.step(action))

    def observation_spec(self):
        return specs.Array((3,), np.float32)

    def _cut(self, timestep):
        return timestep._replace(observation=timestep.observation[-1])


@pytest.mark.parametrize("game", minatar.game_names())
def test_each_minatar_game_goes_on_from_any_step(game):
    rng = np.random.default_rng(0)
    first = registry.make_factory(f"minatar:{game}")(1)
    second = registry.make_factory(f"minatar:{game}")(2)
    first.reset()
    for _ in range(10):
        for action in rng.integers(6, size=40):
            first.step(action)
        saving.restore(second, saving.save(first))
        for action in rng.integers(6, size=40):
            _assert_same(first.step(action), second.step(action))


def test_a_game_goes_on_after_a_lost_life_with_its_sticky_actions():
    settings = atari.AtariSettings(
        terminal_on_life_loss=True, sticky_action_probability=0.25
    )
    first, second = (atari.make("breakout", settings, seed) for seed in (1, 2))
    rng = np.random.default_rng(0)
    timestep = first.reset()
    while not timestep.last():
        timestep = first.step(rng.integers(4))
    assert not first.game_over
    saving.restore(second, saving.save(first))
    for action in rng.integers(4, size=300):
        _assert_same(first.step(action), second.step(action))
        assert first.game_over == second.game_over


def _assert_same(one, other):
    assert one[:3] == other[:3]
    np.testing.assert_array_equal(one.observation, other.observation)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("catch", {"stack": 1}),
        ("minatar:breakout", {"game": {"lives": 3}}),
        ("atari:pong", {"stack": np.zeros((84, 84, 3), np.uint8)}),
    ],
)
def test_a_state_of_something_else_is_refused(name, state):
    with pytest.raises(ValueError, match="was not saved by a"):
        saving.restore(registry.make_factory(name)(0), state)


def test_an_emulators_state_that_is_damaged_is_refused():
    environment = registry.make_factory("atari:pong")(0)
    environment.reset()
    state = saving.save(environment)
    with pytest.raises(ValueError, match="was not saved by a"):
        saving.restore(environment, {**state, "emulator": state["emulator"][:100]})
