import math
import unittest

import dm_env
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import specs

from rlcomponents import seeding
from rlcomponents.environments import catch, time_steps, wrappers
from rlcomponents.testing import environment_contract


class _Deaf(catch.Catch):
    """Does not listen to its seed."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed=0)


class _Unseeded(catch.Catch):
    """Draws from where no seed reaches."""

    _entropy = iter(range(1000))

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed=next(self._entropy))


class _Overwriting(catch.Catch):
    """Writes each board into the array of the one before."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)
        self._array = np.zeros((10, 5), np.float32)

    def _board(self):
        self._array[...] = super()._board()
        return self._array


class _Lenient(catch.Catch):
    """Takes any number for an action."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)

    def step(self, action):
        return super().step(action % 3)


class _Endless(catch.Catch):
    """Returns a step of type MID after its LAST one."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)

    def step(self, action):
        timestep = super().step(action)
        if timestep.first():
            return dm_env.transition(np.float32(0), timestep.observation)
        return timestep


class _Forgetful(catch.Catch):
    """Goes on with this episode alone, not with those that would come."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)

    def restore(self, state):
        super().restore({**state, "rng": seeding.save_generator(self._rng)})


class _Sharing(catch.Catch):
    """Saves a list that it goes on to change."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)
        self._actions = []

    def step(self, action):
        self._actions.append(int(action))
        return super().step(action)

    def save(self):
        return {**super().save(), "actions": self._actions}


class _Remembering(catch.Catch):
    """Keeps its best return, which is none yet, and a mean of nothing."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)

    def save(self):
        return {**super().save(), "best": -math.inf, "mean": math.nan}


def _failed(contract):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(contract).run(result)
    return {case._testMethodName for case, _ in result.failures + result.errors}


def test_a_saved_state_may_hold_infinities_and_nan():
    class Contract(environment_contract.EnvironmentContract, absltest.TestCase):
        num_steps = 40

        def make_environment(self, seed):
            return _Remembering(seed)

    goes_on = "test_it_goes_on_from_a_saved_state_in_another_object"
    assert goes_on not in _failed(Contract)


@pytest.mark.parametrize(
    ("environment", "failing"),
    [
        (_Deaf, "test_different_seeds_give_different_episodes"),
        (_Unseeded, "test_equal_seeds_give_equal_episodes"),
        (_Overwriting, "test_observations_do_not_change_under_their_owner"),
        (_Lenient, "test_an_action_outside_the_spec_is_refused"),
        (_Endless, "test_the_checker_finds_nothing"),
        (_Forgetful, "test_it_goes_on_from_a_saved_state_in_another_object"),
        (_Sharing, "test_it_goes_on_from_a_saved_state_in_another_object"),
    ],
)
def test_the_contract_notices_a_planted_fault(environment, failing):
    class Contract(environment_contract.EnvironmentContract, absltest.TestCase):
        num_steps = 40

        def make_environment(self, seed):
            return environment(seed)

    failed = _failed(Contract)
    assert failing in failed
    assert "test_its_picture_is_rgb" not in failed


class _Point(dm_env.Environment):
    """A point on a line, where the seed puts it, moved by each action."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._place = None

    def reset(self):
        self._place = self._rng.standard_normal(1, np.float32)
        return dm_env.restart(self._place)

    def step(self, action):
        if self._place is None:
            return self.reset()
        self._place = self._place + action
        return time_steps.transition(float(-abs(self._place[0])), self._place)

    def observation_spec(self):
        return specs.Array((1,), np.float32)

    def action_spec(self):
        return specs.BoundedArray((1,), np.float32, -1.0, 1.0)

    def reward_spec(self):
        return time_steps.reward_spec()

    def discount_spec(self):
        return time_steps.discount_spec()


class _Scalar(_Point):
    """Has a number for an action, and not a vector."""

    def action_spec(self):
        return specs.BoundedArray((), np.float32, -1.0, 1.0)


@pytest.mark.parametrize(
    ("make_environment", "failing"),
    [
        pytest.param(
            lambda seed: wrappers.ClippedActions(_Point(seed)), set(), id="none"
        ),
        pytest.param(
            _Point,
            {
                "test_an_action_outside_the_bounds_is_the_nearest_one_inside",
                "test_an_action_that_is_not_a_number_is_refused",
            },
            id="not-clipped",
        ),
        pytest.param(
            lambda seed: wrappers.ClippedActions(_Scalar(seed)),
            {"test_actions_are_a_bounded_vector_in_single_precision"},
            id="no-vector",
        ),
    ],
)
def test_the_continuous_contract_notices_a_planted_fault(make_environment, failing):
    class Contract(
        environment_contract.ContinuousEnvironmentContract, absltest.TestCase
    ):
        num_steps = 10

        def make_environment(self, seed):
            return make_environment(seed)

    failed = _failed(Contract)
    # What it cannot do is skipped, by an exception.
    skipped = {
        "test_its_picture_is_rgb",
        "test_it_goes_on_from_a_saved_state_in_another_object",
    }
    assert failed - skipped == failing
