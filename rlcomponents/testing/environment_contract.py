"""The tests that every environment must pass; inherit them.

    class TestCatch(environment_contract.EnvironmentContract, absltest.TestCase):
        def make_environment(self, seed):
            return catch.Catch(catch.CatchSettings(), seed)

`EnvironmentContract` is for discrete actions, `ContinuousEnvironmentContract` for
continuous ones. dm_env's own tests (types of steps, conformity to the specs)
come along.
"""

import json
from collections.abc import Iterator

import dm_env
import numpy as np
import pytest
import tree
from dm_env import specs, test_utils

from rlcomponents import states
from rlcomponents.environments import checker, saving


class _AnyActionsContract(test_utils.EnvironmentTestMixin):
    """What the actions do not matter for.

    Attributes:
        num_steps: Agent steps that each test plays; enough to end an episode, or the
            end is not tested.
        different_seeds: Two seeds whose first `num_steps` steps differ under the same
            actions; None for an environment in which nothing is random.
    """

    num_steps: int = 200
    different_seeds: tuple[int, int] | None = (1, 2)

    def make_environment(self, seed: int) -> dm_env.Environment:
        """Returns a new environment. Overridden by each test."""
        raise NotImplementedError

    def make_object_under_test(self) -> dm_env.Environment:
        """See `dm_env.test_utils`."""
        return self.make_environment(seed=1)

    def test_rewards_and_discounts_are_single_precision(self) -> None:
        """As they are stored and learnt from."""
        assert self.environment.reward_spec().dtype == np.float32
        assert self.environment.discount_spec().dtype == np.float32

    def test_the_checker_finds_nothing(self) -> None:
        """`checker.check` plays `num_steps` steps without complaint."""
        checker.check(self.environment, steps=self.num_steps)

    def test_equal_seeds_give_equal_episodes(self) -> None:
        """Two environments of one seed give the same steps under the same actions."""
        first, second = self.make_environment(3), self.make_environment(3)
        for one, other in zip(self._play(first), self._play(second), strict=True):
            tree.map_structure(np.testing.assert_array_equal, one, other)

    def test_different_seeds_give_different_episodes(self) -> None:
        """The seed reaches whatever is random in the environment."""
        if self.different_seeds is None:
            pytest.skip("Nothing is random in this environment.")
        first, second = map(self.make_environment, self.different_seeds)
        assert not all(
            np.array_equal(one, other)
            for steps in zip(self._play(first), self._play(second), strict=True)
            for one, other in zip(*map(_leaves, steps), strict=True)
        )

    def test_observations_do_not_change_under_their_owner(self) -> None:
        """Replay and actors keep observations without copying them."""
        observations, copies = [], []
        for timestep in self._play(self.environment):
            observations.append(timestep.observation)
            copies.append(tree.map_structure(np.copy, timestep.observation))
        tree.map_structure(np.testing.assert_array_equal, observations, copies)

    def test_it_goes_on_from_a_saved_state_in_another_object(self) -> None:
        """To the end of the episode, and over the next one; see `saving`."""
        actions = list(self.make_action_sequence())
        middle = len(actions) // 2
        self.environment.reset()
        for action in actions[:middle]:
            self.environment.step(action)
        state = saving.save(self.environment)
        if state is None:
            pytest.skip("This environment cannot save itself.")
        text = _saved_text(state)
        rest = [*self._go_on(self.environment, actions[middle:])]
        assert _saved_text(state) == text, "The state is no copy."
        for _ in range(2):  # The first does not spoil the state for the second.
            other = self.make_environment(seed=2)
            other.reset()
            saving.restore(other, states.from_json(json.loads(text)))
            for one, two in zip(
                rest, self._go_on(other, actions[middle:]), strict=True
            ):
                tree.map_structure(np.testing.assert_array_equal, one, two)

    def test_its_picture_is_rgb(self) -> None:
        """An environment that can draw itself does it in a video's format."""
        if not hasattr(self.environment, "screen"):
            pytest.skip("This environment has no picture.")
        self.environment.reset()
        picture = self.environment.screen()
        assert picture.dtype == np.uint8
        assert picture.shape[2:] == (3,)
        assert np.ptp(picture) > 0

    def _go_on(
        self, environment: dm_env.Environment, actions: list[np.ndarray]
    ) -> Iterator[dm_env.TimeStep]:
        for action in actions:
            yield environment.step(action)
        yield environment.reset()
        for action in actions[:10]:
            yield environment.step(action)

    def _play(self, environment: dm_env.Environment) -> Iterator[dm_env.TimeStep]:
        yield environment.reset()
        for action in self.make_action_sequence():
            yield environment.step(action)


class EnvironmentContract(_AnyActionsContract):
    """Tests to be mixed into an `absltest.TestCase`, before it in the bases.

    For discrete actions. Attributes: see `_AnyActionsContract`.
    """

    def make_action_sequence(self) -> Iterator[np.ndarray]:
        """Yields `num_steps` random actions, always the same."""
        spec = self.environment.action_spec()
        rng = np.random.default_rng(0)
        for _ in range(self.num_steps):
            yield np.asarray(
                rng.integers(spec.minimum, spec.maximum, endpoint=True), spec.dtype
            )

    def test_actions_are_numbered_from_zero(self) -> None:
        """Networks have one output for each action, replay stores int32."""
        spec = self.environment.action_spec()
        assert isinstance(spec, specs.DiscreteArray)
        assert spec.dtype == np.int32

    def test_an_action_outside_the_spec_is_refused(self) -> None:
        """Not wrapped round to another action, as an index of -1 would be."""
        for action in (-1, self.environment.action_spec().num_values):
            self.environment.reset()
            with pytest.raises(ValueError, match=f"Action {action} does not exist"):
                self.environment.step(action)


class ContinuousEnvironmentContract(_AnyActionsContract):
    """As `EnvironmentContract`, for vectors of floats as actions."""

    def make_action_sequence(self) -> Iterator[np.ndarray]:
        """Yields `num_steps` random actions, always the same."""
        spec = self.environment.action_spec()
        rng = np.random.default_rng(0)
        for _ in range(self.num_steps):
            yield rng.uniform(spec.minimum, spec.maximum, spec.shape).astype(spec.dtype)

    def test_actions_are_a_bounded_vector_in_single_precision(self) -> None:
        """Networks have one output for each dimension."""
        spec = self.environment.action_spec()
        assert isinstance(spec, specs.BoundedArray)
        assert len(spec.shape) == 1
        assert spec.dtype == np.float32
        assert np.all(np.isfinite(spec.minimum))
        assert np.all(np.isfinite(spec.maximum))

    def test_an_action_outside_the_bounds_is_the_nearest_one_inside(self) -> None:
        """A Gaussian policy draws from everywhere."""
        spec = self.environment.action_spec()
        first, second = self.make_environment(3), self.make_environment(3)
        for bound, sign in ((spec.maximum, 1.0), (spec.minimum, -1.0)):
            inside = np.broadcast_to(bound, spec.shape).astype(spec.dtype)
            first.reset()
            second.reset()
            tree.map_structure(
                np.testing.assert_array_equal,
                first.step(inside + np.float32(10.0 * sign)),
                second.step(inside),
            )

    def test_an_action_that_is_not_a_number_is_refused(self) -> None:
        """Before it spoils the state."""
        self.environment.reset()
        action = np.full(self.environment.action_spec().shape, np.nan, np.float32)
        with pytest.raises(ValueError, match="does not exist"):
            self.environment.step(action)


def _saved_text(state: states.State) -> str:
    # As strict as the file of a node, which takes no NaN that JSON has no word for.
    return json.dumps(states.to_json(state), allow_nan=False)


def _leaves(timestep: dm_env.TimeStep) -> list[np.ndarray]:
    return tree.flatten(timestep.observation)
