import unittest

import dm_env
import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents.environments import catch
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


@pytest.mark.parametrize(
    ("environment", "failing"),
    [
        (_Deaf, "test_different_seeds_give_different_episodes"),
        (_Unseeded, "test_equal_seeds_give_equal_episodes"),
        (_Overwriting, "test_observations_do_not_change_under_their_owner"),
        (_Lenient, "test_an_action_outside_the_spec_is_refused"),
        (_Endless, "test_the_checker_finds_nothing"),
    ],
)
def test_the_contract_notices_a_planted_fault(environment, failing):
    class Contract(environment_contract.EnvironmentContract, absltest.TestCase):
        num_steps = 40

        def make_environment(self, seed):
            return environment(seed)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Contract).run(result)
    failed = {case._testMethodName for case, _ in result.failures + result.errors}
    assert failing in failed
    assert "test_its_picture_is_rgb" not in failed
