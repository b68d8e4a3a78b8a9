import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents.environments import flat_observations


class _Nested(dm_env.Environment):
    """Shows its number of steps in three parts, out of the order of their names."""

    def __init__(self, part_spec=None):
        self._part_spec = part_spec or specs.Array((), np.float64)
        self._steps = 0

    def reset(self):
        self._steps = 0
        return dm_env.restart(self._observation())

    def step(self, action):
        self._steps += 1
        return dm_env.transition(reward=0.5, observation=self._observation())

    def observation_spec(self):
        return {
            "velocity": specs.Array((2, 2), np.float64),
            "angle": self._part_spec,
            "hand": {"touch": specs.BoundedArray((1,), np.float32, 0.0, 100.0)},
        }

    def action_spec(self):
        return specs.DiscreteArray(2)

    def _observation(self):
        return {
            "velocity": self._steps + np.array([[1.0, 2.0], [3.0, 4.0]]),
            "angle": np.float64(self._steps - 1.5),
            "hand": {"touch": np.array([10 * self._steps], np.float32)},
        }


def test_parts_are_joined_by_the_order_of_their_names():
    environment = flat_observations.FlatObservations(_Nested())
    observation = environment.reset().observation
    np.testing.assert_array_equal(observation, [-1.5, 0.0, 1.0, 2.0, 3.0, 4.0])
    timestep = environment.step(0)
    np.testing.assert_array_equal(timestep.observation, [-0.5, 10, 2, 3, 4, 5])
    assert timestep.reward == 0.5


def test_the_vector_is_single_precision_as_its_spec_says():
    environment = flat_observations.FlatObservations(_Nested())
    spec = environment.observation_spec()
    assert (spec.shape, spec.dtype) == ((6,), np.float32)
    for timestep in (environment.reset(), environment.step(0)):
        spec.validate(timestep.observation)


def test_each_observation_is_a_new_array():
    environment = flat_observations.FlatObservations(_Nested())
    first = environment.reset().observation
    environment.step(0)
    np.testing.assert_array_equal(first, [-1.5, 0.0, 1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, bool])
def test_a_part_that_is_not_of_floats_is_refused_by_its_name(dtype):
    environment = _Nested(specs.Array((8, 8, 3), dtype))
    with pytest.raises(ValueError, match=f"'angle' of .* is {np.dtype(dtype).name}"):
        flat_observations.FlatObservations(environment)
