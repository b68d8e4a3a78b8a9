"""Tests of rlcomponents.networks.policies."""

import subprocess
import sys

import numpy as np

from rlcomponents.networks import policies


def test_policies_unpack_in_the_order_of_the_losses_arguments():
    (logits,) = policies.Softmax(np.zeros([2, 3]))
    mean, variance = policies.Gaussian(np.zeros([2, 4]), np.ones([2]))
    assert (logits.shape, mean.shape, variance.shape) == ((2, 3), (2, 4), (2,))


def test_naming_a_policy_takes_no_tensorflow():
    program = (
        "import sys; from rlcomponents.networks import policies;"
        "assert 'tensorflow' not in sys.modules"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
