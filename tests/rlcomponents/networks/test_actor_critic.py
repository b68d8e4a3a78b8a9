"""Tests of rlcomponents.networks.actor_critic."""

import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import actor_critic, bodies, policies, torsos

ATARI = ((84, 84, 4), np.uint8)
MINATAR = ((10, 10, 4), bool)
VECTOR = ((5,), np.float32)

DISCRETE = dm_env_specs.DiscreteArray(6)
CONTINUOUS = dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0)

ALL = [
    pytest.param(actions, recurrent, id=f"{name}-{memory}")
    for (name, actions), (memory, recurrent) in itertools.product(
        [("discrete", DISCRETE), ("continuous", CONTINUOUS)],
        [("feed-forward", False), ("recurrent", True)],
    )
]


def _environment_spec(shape, dtype, actions=DISCRETE):
    return specs.EnvironmentSpec(
        observations=dm_env_specs.Array(shape, dtype),
        actions=actions,
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )


def _make(
    actions=DISCRETE, recurrent=False, *, kind="mlp", observations=VECTOR, **more
):
    return actor_critic.make_actor_critic(
        kind,
        _environment_spec(*observations, actions),
        recurrent=recurrent,
        **{"seed": 0, **more},
    )


def _random_observations(shape, dtype, num_steps=4, batch_size=3):
    values = np.random.default_rng(0).normal(size=[num_steps, batch_size, *shape])
    return tf.constant((values if dtype == np.float32 else values > 0).astype(dtype))


def _never(num_steps=4, batch_size=3):
    return tf.zeros([num_steps, batch_size], tf.bool)


def _unroll(network, observations):
    batch_size = observations.shape[1]
    is_first = _never(*observations.shape[:2])
    return network.unroll(observations, is_first, network.initial_state(batch_size))


def _vector(network):
    return np.concatenate([v.numpy().ravel() for v in network.trainable_variables])


def _linear(inputs, outputs):
    return (inputs + 1) * outputs


def _lstm(inputs, cells):
    return 4 * (inputs + cells + 1) * cells


CONVOLUTIONS = {
    "nips_dqn": _linear(8 * 8 * 4, 16) + _linear(4 * 4 * 16, 32),
    "nature_dqn": _linear(8 * 8 * 4, 32)
    + _linear(4 * 4 * 32, 64)
    + _linear(3 * 3 * 64, 64),
    "minatar": _linear(3 * 3 * 4, 16),
}


@pytest.mark.parametrize(
    ("kind", "observations", "hidden", "features"),
    [
        pytest.param("nips_dqn", ATARI, _linear(9 * 9 * 32, 256), 256, id="nips_dqn"),
        pytest.param("nature_dqn", ATARI, _linear(7 * 7 * 64, 512), 512, id="nature"),
        pytest.param("minatar", MINATAR, _linear(8 * 8 * 16, 128), 128, id="minatar"),
        pytest.param("mlp", VECTOR, _linear(5, 128) + _linear(128, 128), 128, id="mlp"),
    ],
)
def test_policy_and_value_share_all_but_their_own_linear_layer(
    kind, observations, hidden, features
):
    shared = CONVOLUTIONS.get(kind, 0) + hidden
    network = _make(kind=kind, observations=observations)
    assert _vector(network).size == shared + _linear(features, 6) + _linear(features, 1)

    network = _make(kind=kind, observations=observations, recurrent=True)
    heads = _linear(256, 6) + _linear(256, 1)
    assert _vector(network).size == shared + _lstm(features, 256) + heads


def test_nested_observations_are_refused_in_one_sentence():
    spec = _environment_spec(*VECTOR)
    spec = spec._replace(observations={"position": spec.observations})
    body = bodies.FeedForwardBody(torsos.MLPTorso([4]))
    with pytest.raises(ValueError, match="The observations are a dict: these"):
        actor_critic.DiscreteActorCritic(body, spec, seed=0)


def test_continuous_networks_have_the_published_sizes():
    heads = _linear(128, 2) + _linear(128, 1) + _linear(128, 1)
    recurrent = _make(CONTINUOUS, recurrent=True)
    body = _linear(5, 200) + _lstm(200, 128)
    assert _vector(recurrent).size == 2 * body + heads
    feed_forward = _make(CONTINUOUS)
    body = _linear(5, 200) + _linear(200, 128)
    assert _vector(feed_forward).size == 2 * body + heads


def test_sizes_are_the_callers():
    network = _make(recurrent=True, lstm_size=3, mlp_hidden_sizes=[7])
    heads = _linear(3, 6) + _linear(3, 1)
    assert _vector(network).size == _linear(5, 7) + _lstm(7, 3) + heads
    network = _make(CONTINUOUS, mlp_hidden_sizes=[7])
    heads = _linear(7, 2) + _linear(7, 1) + _linear(7, 1)
    assert _vector(network).size == 2 * _linear(5, 7) + heads


@pytest.mark.parametrize(("actions", "recurrent"), ALL)
@pytest.mark.parametrize(
    ("kind", "observations"), [("mlp", VECTOR), ("minatar", MINATAR)]
)
def test_a_rollout_gives_a_policy_and_a_value_for_each_step(
    actions, recurrent, kind, observations
):
    network = _make(actions, recurrent, kind=kind, observations=observations)
    policy, values, state = _unroll(network, _random_observations(*observations))
    assert (values.shape, values.dtype) == ((4, 3), tf.float32)
    if actions is DISCRETE:
        assert isinstance(policy, policies.Softmax)
        assert policy.logits.shape == (4, 3, 6)
    else:
        assert isinstance(policy, policies.Gaussian)
        assert (policy.mean.shape, policy.variance.shape) == ((4, 3, 2), (4, 3))
    expected = [x.shape for x in network.initial_state(3)]
    assert [x.shape for x in state] == expected
    assert (state == ()) is not recurrent


@pytest.mark.parametrize(("actions", "recurrent"), ALL)
def test_acting_step_by_step_is_learning_on_the_rollout(actions, recurrent):
    """Episodes start within the rollout, in each row elsewhere."""
    network = _make(actions, recurrent)
    observations = _random_observations(*VECTOR, num_steps=6)
    is_first = np.zeros([6, 3], bool)
    is_first[[0, 3, 4, 5], [0, 0, 0, 1]] = True
    is_first = tf.constant(is_first)
    whole = network.unroll(observations, is_first, network.initial_state(3))

    state = network.initial_state(3)
    steps = []
    for step in range(6):
        *outputs, state = network.unroll(
            observations[step : step + 1], is_first[step : step + 1], state
        )
        steps.append(outputs)
    joined = tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), *steps)
    tf.nest.map_structure(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6),
        [*joined, state],
        list(whole),
    )


@pytest.mark.parametrize("actions", [DISCRETE, CONTINUOUS], ids=str)
def test_a_memory_reaches_policy_and_value_and_ends_with_the_episode(actions):
    network = _make(actions, recurrent=True)
    observations = _random_observations(*VECTOR, num_steps=2, batch_size=1)
    changed = tf.concat([observations[:1] + 1.0, observations[1:]], axis=0)

    def second_step(observations, second_is_first):
        is_first = tf.constant([[True], [second_is_first]])
        policy, values, _ = network.unroll(
            observations, is_first, network.initial_state(1)
        )
        return [part.numpy()[1] for part in (*policy, values)]

    for remembered, other in zip(
        second_step(observations, False), second_step(changed, False), strict=True
    ):
        assert not np.allclose(remembered, other, atol=1e-5)
    for forgotten, other in zip(
        second_step(observations, True), second_step(changed, True), strict=True
    ):
        np.testing.assert_allclose(forgotten, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("actions", "recurrent"), ALL)
def test_variables_have_different_names_and_all_get_a_gradient(actions, recurrent):
    network = _make(actions, recurrent)
    names = [variable.name for variable in network.trainable_variables]
    assert len(set(names)) == len(names)
    with tf.GradientTape() as tape:
        policy, values, _ = _unroll(network, _random_observations(*VECTOR))
        loss = tf.reduce_sum(values)
        for part in policy:
            loss += tf.reduce_sum(part)
    gradients = tape.gradient(loss, network.trainable_variables)
    assert all(np.any(gradient) for gradient in gradients)


def _reached(network, select):
    """Returns the names of the variables on which a part of the outputs depends."""
    with tf.GradientTape() as tape:
        policy, values, _ = _unroll(network, _random_observations(*VECTOR))
        loss = tf.add_n([tf.reduce_sum(x**2) for x in select(policy, values)])
    gradients = tape.gradient(loss, network.trainable_variables)
    return {
        variable.name
        for variable, gradient in zip(
            network.trainable_variables, gradients, strict=True
        )
        if gradient is not None and np.any(gradient)
    }


@pytest.mark.parametrize("recurrent", [False, True])
def test_continuous_policy_and_value_share_no_parameter(recurrent):
    network = _make(CONTINUOUS, recurrent)
    of_policy = _reached(network, lambda policy, values: policy)
    of_value = _reached(network, lambda policy, values: [values])
    assert of_policy.isdisjoint(of_value)
    assert of_policy | of_value == {v.name for v in network.trainable_variables}


@pytest.mark.parametrize("recurrent", [False, True])
def test_discrete_policy_and_value_share_the_body(recurrent):
    network = _make(DISCRETE, recurrent)
    of_policy = _reached(network, lambda policy, values: policy)
    of_value = _reached(network, lambda policy, values: [values])
    assert {name.split("/")[-2] for name in of_policy - of_value} == {"logits"}
    assert {name.split("/")[-2] for name in of_value - of_policy} == {"value"}


def test_the_variance_is_a_softplus_and_stays_above_its_minimum():
    network = _make(CONTINUOUS)
    (weights,) = (v for v in network.variables if "variance/w" in v.name)
    (bias,) = (v for v in network.variables if "variance/b" in v.name)
    weights.assign(tf.zeros_like(weights))
    for value, expected in ((0.0, np.log(2.0)), (3.0, 3.0486), (-200.0, 0.0)):
        bias.assign([value])
        policy, _, _ = _unroll(network, _random_observations(*VECTOR))
        expected += actor_critic.MINIMUM_VARIANCE
        np.testing.assert_allclose(policy.variance, np.full([4, 3], expected), 1e-4)


def test_images_are_scaled_inside():
    network = _make(kind="nips_dqn", observations=ATARI)
    pixels = tf.fill([1, 1, 84, 84, 4], tf.constant(255, tf.uint8))
    ones = tf.ones([1, 1, 84, 84, 4])
    for one, other in zip(
        _unroll(network, pixels)[:2], _unroll(network, ones)[:2], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("actions", "recurrent"), ALL)
def test_equal_seeds_give_equal_networks_that_share_nothing(actions, recurrent):
    first, second = _make(actions, recurrent), _make(actions, recurrent)
    np.testing.assert_array_equal(_vector(first), _vector(second))
    assert not {id(v) for v in first.variables} & {id(v) for v in second.variables}
    other = _make(actions, recurrent, seed=1)
    assert not np.array_equal(_vector(first), _vector(other))


def test_two_processes_build_bit_identical_networks():
    """Workers offer their own initial parameters to the store: all must be equal."""
    program = f"""
import hashlib, sys
sys.path[:0] = {sys.path!r}
import numpy as np, tensorflow as tf
from dm_env import specs as dm_env_specs
from rlcomponents import specs
from rlcomponents.networks import actor_critic
tf.random.uniform([3])
spec = specs.EnvironmentSpec(
    observations=dm_env_specs.Array((5,), np.float32),
    actions=dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0),
    rewards=None, discounts=None)
network = actor_critic.make_actor_critic("mlp", spec, recurrent=True, seed=5)
digest = hashlib.sha256()
for variable in network.trainable_variables:
    digest.update(variable.name.encode() + variable.numpy().tobytes())
print(digest.hexdigest())
"""
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    digest = hashlib.sha256()
    for variable in _make(CONTINUOUS, recurrent=True, seed=5).trainable_variables:
        digest.update(variable.name.encode() + variable.numpy().tobytes())
    assert other.stdout.split()[-1] == digest.hexdigest()


@pytest.mark.parametrize(("actions", "recurrent"), ALL)
def test_a_compiled_call_with_a_fixed_signature_creates_nothing_and_agrees(
    actions, recurrent
):
    network = _make(actions, recurrent)
    num_variables = len(network.variables)
    state = network.initial_state(1)
    compiled = tf.function(
        network.unroll,
        input_signature=[
            tf.TensorSpec([1, 1, 5]),
            tf.TensorSpec([1, 1], tf.bool),
            tuple(tf.TensorSpec(part.shape) for part in state),
        ],
        autograph=False,
    )
    observations = _random_observations(*VECTOR, num_steps=1, batch_size=1)
    tf.nest.map_structure(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6),
        compiled(observations, _never(1, 1), state),
        _unroll(network, observations),
    )
    assert len(network.variables) == num_variables


def test_a_body_of_another_network_is_refused():
    body = bodies.FeedForwardBody(torsos.MLPTorso([4]))
    spec = _environment_spec(*VECTOR)
    actor_critic.DiscreteActorCritic(body, spec, seed=0)
    with pytest.raises(ValueError, match="would share"):
        actor_critic.DiscreteActorCritic(body, spec, seed=0)


def test_one_body_for_a_continuous_policy_and_its_value_is_refused():
    body = bodies.FeedForwardBody(torsos.MLPTorso([4]))
    spec = _environment_spec(*VECTOR, CONTINUOUS)
    with pytest.raises(ValueError, match="two parts at once"):
        actor_critic.ContinuousActorCritic(body, body, spec, seed=0)


def test_a_memory_for_the_policy_alone_keeps_the_states_apart():
    network = actor_critic.ContinuousActorCritic(
        bodies.RecurrentBody(torsos.MLPTorso([4]), 3),
        bodies.FeedForwardBody(torsos.MLPTorso([4])),
        _environment_spec(*VECTOR, CONTINUOUS),
        seed=0,
    )
    _, values, state = _unroll(network, _random_observations(*VECTOR))
    assert values.shape == (4, 3)
    assert [part.shape for part in state] == [(3, 3), (3, 3)]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"mlp_hidden_sizes": ()}, "mlp_hidden_sizes is"),
        ({"mlp_hidden_sizes": (8, 0)}, "mlp_hidden_sizes is"),
        ({"lstm_size": 0, "recurrent": True}, "lstm_size is 0"),
        ({"kind": "nature_dqn"}, "use 'mlp'"),
        ({"actions": dm_env_specs.Array((), np.float32)}, r"vector \[D\] of floats"),
    ],
)
def test_what_cannot_be_built_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        _make(**setting)
