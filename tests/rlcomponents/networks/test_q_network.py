"""Tests of rlcomponents.networks.q_network."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import heads, kinds, q_network, torsos

ATARI = ((84, 84, 4), np.uint8)
MINATAR = ((10, 10, 4), bool)
VECTOR = ((5,), np.float32)
CATCH = ((10, 5), np.float32)


def _environment_spec(shape, dtype, num_actions=6):
    return specs.EnvironmentSpec(
        observations=dm_env_specs.Array(shape, dtype),
        actions=dm_env_specs.DiscreteArray(num_actions),
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )


def _random_observations(shape, dtype, batch_size=3):
    values = np.random.default_rng(0).integers(2, size=[batch_size, *shape])
    return tf.constant(values.astype(dtype))


def _vector(network):
    return np.concatenate([v.numpy().ravel() for v in network.trainable_variables])


@pytest.mark.parametrize(
    ("kind", "observations", "num_parameters"),
    [
        pytest.param(
            "nature_dqn",
            ATARI,
            (8 * 8 * 4 + 1) * 32
            + (4 * 4 * 32 + 1) * 64
            + (3 * 3 * 64 + 1) * 64
            + (7 * 7 * 64 + 1) * 512
            + (512 + 1) * 6,
            id="nature_dqn",
        ),
        pytest.param(
            "nips_dqn",
            ATARI,
            (8 * 8 * 4 + 1) * 16
            + (4 * 4 * 16 + 1) * 32
            + (9 * 9 * 32 + 1) * 256
            + (256 + 1) * 6,
            id="nips_dqn",
        ),
        pytest.param(
            "minatar",
            MINATAR,
            (3 * 3 * 4 + 1) * 16 + (8 * 8 * 16 + 1) * 128 + (128 + 1) * 6,
            id="minatar",
        ),
        pytest.param(
            "mlp",
            VECTOR,
            (5 + 1) * 128 + (128 + 1) * 128 + (128 + 1) * 6,
            id="mlp",
        ),
    ],
)
def test_each_kind_has_the_published_number_of_parameters(
    kind, observations, num_parameters
):
    network = q_network.make_network(kind, _environment_spec(*observations), seed=0)
    assert _vector(network).size == num_parameters
    q_values = network(_random_observations(*observations))
    assert (q_values.shape, q_values.dtype) == ((3, 6), tf.float32)


def test_nested_observations_are_refused_in_one_sentence():
    spec = _environment_spec(*VECTOR)
    spec = spec._replace(observations={"position": spec.observations})
    with pytest.raises(ValueError, match="The observations are a dict: these"):
        q_network.QNetwork(torsos.MLPTorso([4]), heads.QHead(6, 4), spec, seed=0)


def test_dueling_has_the_last_hidden_layer_twice():
    network = q_network.make_network(
        "minatar", _environment_spec(*MINATAR), dueling=True, seed=0
    )
    hidden = (8 * 8 * 16 + 1) * 128
    outputs = (128 + 1) * (6 + 1)
    assert _vector(network).size == (3 * 3 * 4 + 1) * 16 + 2 * hidden + outputs


def test_hidden_sizes_of_an_mlp_are_the_callers():
    network = q_network.make_network(
        "mlp", _environment_spec(*CATCH), mlp_hidden_sizes=[7], seed=0
    )
    assert _vector(network).size == (50 + 1) * 7 + (7 + 1) * 6


def test_two_processes_build_bit_identical_networks():
    """Workers offer their own initial parameters to the store: all must be equal."""
    program = f"""
import hashlib, sys
sys.path[:0] = {sys.path!r}
import numpy as np, tensorflow as tf
from dm_env import specs as dm_env_specs
from rlcomponents import specs
from rlcomponents.networks import q_network
tf.random.uniform([3])
spec = specs.EnvironmentSpec(
    observations=dm_env_specs.Array((10, 10, 4), bool),
    actions=dm_env_specs.DiscreteArray(6), rewards=None, discounts=None)
network = q_network.make_network("minatar", spec, seed=5)
digest = hashlib.sha256()
for variable in network.trainable_variables:
    digest.update(variable.name.encode() + variable.numpy().tobytes())
print(digest.hexdigest())
"""
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    network = q_network.make_network("minatar", _environment_spec(*MINATAR), seed=5)
    digest = hashlib.sha256()
    for variable in network.trainable_variables:
        digest.update(variable.name.encode() + variable.numpy().tobytes())
    assert other.stdout.split()[-1] == digest.hexdigest()


@pytest.mark.parametrize("dueling", [False, True])
def test_target_and_online_network_share_nothing(dueling):
    online, target = (
        q_network.make_network(
            "minatar", _environment_spec(*MINATAR), dueling=dueling, seed=5
        )
        for _ in range(2)
    )
    before = _vector(target)
    np.testing.assert_array_equal(_vector(online), before)
    shared = {id(v) for v in online.variables} & {id(v) for v in target.variables}
    assert not shared

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(online(_random_observations(*MINATAR)) ** 2)
    gradients = tape.gradient(loss, online.trainable_variables)
    for variable, gradient in zip(online.trainable_variables, gradients, strict=True):
        variable.assign_sub(0.1 * gradient)

    np.testing.assert_array_equal(_vector(target), before)
    assert not np.array_equal(_vector(online), before)


@pytest.mark.parametrize("shared", ["torso", "head"])
def test_a_torso_or_head_of_another_network_is_refused(shared):
    parts = {"torso": torsos.MLPTorso([4]), "head": heads.QHead(6, 4)}
    spec = _environment_spec(*VECTOR)
    q_network.QNetwork(**parts, environment_spec=spec, seed=0)
    fresh = {"torso": torsos.MLPTorso([4]), "head": heads.QHead(6, 4)}
    with pytest.raises(ValueError, match="would share"):
        q_network.QNetwork(
            **{**fresh, shared: parts[shared]}, environment_spec=spec, seed=0
        )


@pytest.mark.parametrize("dueling", [False, True])
def test_variables_have_different_names_and_all_get_a_gradient(dueling):
    network = q_network.make_network(
        "nature_dqn", _environment_spec(*ATARI), dueling=dueling, seed=0
    )
    names = [variable.name for variable in network.trainable_variables]
    assert len(set(names)) == len(names) == (14 if dueling else 10)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(_random_observations(*ATARI))[:, 0])
    gradients = tape.gradient(loss, network.trainable_variables)
    assert all(np.any(gradient) for gradient in gradients)


def test_a_compiled_call_with_a_fixed_signature_creates_nothing_and_agrees():
    network = q_network.make_network("minatar", _environment_spec(*MINATAR), seed=0)
    num_variables = len(network.variables)
    compiled = tf.function(
        network, input_signature=[tf.TensorSpec([1, 10, 10, 4], bool)]
    )
    observations = _random_observations(*MINATAR, batch_size=1)
    np.testing.assert_allclose(
        compiled(observations), network(observations), rtol=1e-5, atol=1e-7
    )
    assert len(network.variables) == num_variables


@pytest.mark.parametrize("sizes", [(), (8, 0)])
def test_an_mlp_without_hidden_units_is_refused(sizes):
    with pytest.raises(ValueError, match="mlp_hidden_sizes is"):
        q_network.make_network(
            "mlp", _environment_spec(*VECTOR), mlp_hidden_sizes=sizes, seed=0
        )


def test_a_kind_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"\(10, 10, 4\) to nothing"):
        q_network.make_network("nature_dqn", _environment_spec(*MINATAR), seed=0)


@pytest.mark.parametrize("shape", [(36, 40, 1), (3, 8, 3), (2, 8, 3), (5,), ()])
def test_the_default_kind_of_any_shape_can_be_built(shape):
    spec = _environment_spec(shape, np.float32)
    network = q_network.make_network(kinds.default_kind(spec), spec, seed=0)
    assert network(tf.zeros([2, *shape])).shape == (2, 6)
