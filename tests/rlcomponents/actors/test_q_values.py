"""Tests of rlcomponents.actors.q_values."""

import numpy as np
import sonnet as snt
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.actors import q_values
from rlcomponents.networks import heads, q_network, torsos
from rlcomponents.parameters import tf_variables


def make_linear(weights):
    network = snt.Linear(len(weights[0]), with_bias=False)
    network(tf.zeros([1, len(weights)]))
    network.w.assign(weights)
    return network


def test_an_observation_becomes_its_action_values():
    evaluate = q_values.make_q_values(
        make_linear([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]),
        dm_env_specs.Array((2,), np.float32),
    )
    values = evaluate(np.array([1.0, 0.5], np.float32))
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, [6.0, 12.0, 18.0])


def test_new_parameters_count_at_once():
    network = make_linear([[1.0, 2.0]])
    evaluate = q_values.make_q_values(network, dm_env_specs.Array((1,), np.float32))
    observation = np.ones(1, np.float32)
    np.testing.assert_array_equal(evaluate(observation), [1.0, 2.0])
    network.w.assign([[5.0, 4.0]])
    np.testing.assert_array_equal(evaluate(observation), [5.0, 4.0])


def test_new_parameters_count_at_once_in_numpy_too():
    spec = dm_env_specs.BoundedArray((2, 2), np.uint8, 0, 255)
    network = q_network.QNetwork(
        torsos.MLPTorso([8]),
        heads.QHead(3, 8),
        specs.EnvironmentSpec(
            observations=spec,
            actions=dm_env_specs.DiscreteArray(3),
            rewards=dm_env_specs.Array((), np.float32),
            discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
        ),
        seed=1,
    )
    variables = tf_variables.FlatVariables(network.trainable_variables)
    evaluate = q_values.make_q_values(network, spec, variables)
    observation = np.array([[0, 255], [7, 90]], np.uint8)
    for factor in (1.0, -3.0):
        variables.assign(np.float32(factor) * variables.vector())
        np.testing.assert_allclose(
            evaluate(observation), network(observation[None])[0], rtol=1e-5, atol=1e-6
        )


def test_observations_keep_the_dtype_of_their_spec():
    seen = []

    def network(observations):
        seen.append((observations.dtype, observations.shape))
        return tf.cast(tf.reshape(observations, [1, -1]), tf.float32)

    evaluate = q_values.make_q_values(network, dm_env_specs.Array((2, 2), np.uint8))
    values = evaluate(np.array([[1, 2], [3, 255]], np.uint8))
    assert seen == [(tf.uint8, [1, 2, 2])]
    np.testing.assert_array_equal(values, [1, 2, 3, 255])
    # A list, as environments of other people give, is taken for what the spec says.
    np.testing.assert_array_equal(evaluate([[4, 3], [2, 1]]), [4, 3, 2, 1])
    assert len(seen) == 1  # Nothing was traced again.


def test_values_survive_the_next_call():
    evaluate = q_values.make_q_values(
        make_linear([[1.0, 2.0]]), dm_env_specs.Array((1,), np.float32)
    )
    observation = np.ones(1, np.float32)
    first = evaluate(observation)
    observation[:] = 7.0
    np.testing.assert_array_equal(evaluate(observation), [7.0, 14.0])
    np.testing.assert_array_equal(first, [1.0, 2.0])
