"""NumPy where it pays, TensorFlow everywhere else."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from rlcomponents.actors import forward_passes
from rlcomponents.parameters import tf_variables


class Network(snt.Module):
    """Says who computes."""

    def __init__(self, num_parameters):
        super().__init__()
        self.weights = tf.Variable(tf.zeros([num_parameters]))

    def in_numpy(self, array_of):
        assert array_of(self.weights).shape == self.weights.shape
        return lambda observations, *rest: ("NumPy", len(observations), *rest)


class TensorFlowOnly(snt.Module):
    def __init__(self):
        super().__init__()
        self.weights = tf.Variable([0.0])


def in_tensorflow(observations, *rest):
    return ("TensorFlow", len(observations), *rest)


def variables_of(network):
    return tf_variables.FlatVariables([network.weights])


@pytest.mark.parametrize(
    ("num_parameters", "batch_size", "who"),
    [
        (forward_passes.SMALL_NETWORK_PARAMETERS, 1, "NumPy"),
        (forward_passes.SMALL_NETWORK_PARAMETERS, 64, "NumPy"),
        (forward_passes.SMALL_NETWORK_PARAMETERS, 65, "TensorFlow"),
        (forward_passes.SMALL_NETWORK_PARAMETERS + 1, 1, "NumPy"),
        (forward_passes.SMALL_NETWORK_PARAMETERS + 1, 2, "TensorFlow"),
    ],
)
def test_single_observations_and_few_of_small_networks_go_through_numpy(
    num_parameters, batch_size, who
):
    network = Network(num_parameters)
    forward = forward_passes.fastest(network, variables_of(network), in_tensorflow)
    assert forward(np.zeros((batch_size, 3)), "state") == (who, batch_size, "state")


def test_without_its_variables_a_network_goes_through_tensorflow():
    assert forward_passes.fastest(Network(1), None, in_tensorflow) is in_tensorflow


def test_a_network_that_has_no_pass_in_numpy_goes_through_tensorflow():
    network = TensorFlowOnly()
    forward = forward_passes.fastest(network, variables_of(network), in_tensorflow)
    assert forward is in_tensorflow
