"""Forward passes in NumPy say what TensorFlow says."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import (
    actor_critic,
    bodies,
    heads,
    in_numpy,
    kinds,
    q_network,
    torsos,
)
from rlcomponents.parameters import tf_variables

PIXELS = dm_env_specs.BoundedArray((44, 40, 3), np.uint8, 0, 255)
FLAGS = dm_env_specs.BoundedArray((10, 10, 4), bool, False, True)
FLOATS = dm_env_specs.Array((5,), np.float64)
DISCRETE = dm_env_specs.DiscreteArray(3)
CONTINUOUS = dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0)


def make_spec(observations, actions=DISCRETE):
    return specs.EnvironmentSpec(
        observations=observations,
        actions=actions,
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )


def draw(spec, batch_size, seed=0):
    rng = np.random.default_rng(seed)
    if spec.dtype == np.float64:
        return rng.normal(size=(batch_size, *spec.shape))
    high = 2 if spec.dtype == bool else 256
    return rng.integers(high, size=(batch_size, *spec.shape)).astype(spec.dtype)


def array_of(variable):
    """A copy of what a variable is now."""
    return variable.numpy()


@pytest.mark.parametrize("batch_size", [1, 2, 7])
@pytest.mark.parametrize(
    ("kind", "observations"),
    [
        ("nature_dqn", PIXELS),
        ("nips_dqn", PIXELS),
        ("minatar", FLAGS),
        ("mlp", FLOATS),
        ("mlp", PIXELS),
    ],
)
@pytest.mark.parametrize("dueling", [False, True])
def test_q_values_are_those_of_tensorflow(kind, observations, dueling, batch_size):
    network = q_network.make_network(
        kind, make_spec(observations), dueling=dueling, seed=1
    )
    batch = draw(observations, batch_size)
    values = network.in_numpy(array_of)(batch)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, network(batch), rtol=1e-4, atol=1e-5)


def test_batches_may_change_their_size():
    network = q_network.make_network("nips_dqn", make_spec(PIXELS), seed=1)
    forward = network.in_numpy(array_of)
    for batch_size in (3, 1, 40, 2):  # 40: patches of more images than fit at once.
        batch = draw(PIXELS, batch_size, seed=batch_size)
        np.testing.assert_allclose(forward(batch), network(batch), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["minatar", "mlp"])
def test_new_values_of_a_q_network_count_at_once(kind):
    network = q_network.make_network(kind, make_spec(FLAGS), dueling=True, seed=1)
    variables = tf_variables.FlatVariables(network.trainable_variables)
    forward = network.in_numpy(variables.array_of)
    batch = draw(FLAGS, 2)
    before = forward(batch)
    variables.assign(1.5 * variables.vector())
    np.testing.assert_allclose(forward(batch), network(batch), rtol=1e-4, atol=1e-5)
    assert not np.allclose(forward(batch), before, rtol=1e-2)


def test_observations_may_be_views_with_gaps():
    network = q_network.make_network("nips_dqn", make_spec(PIXELS), seed=1)
    batch = draw(PIXELS, 4)[::2]
    np.testing.assert_allclose(
        network.in_numpy(array_of)(batch), network(batch), rtol=1e-4, atol=1e-5
    )


def test_what_was_returned_survives_the_next_call():
    network = q_network.make_network("mlp", make_spec(FLOATS), seed=1)
    forward = network.in_numpy(array_of)
    first = forward(draw(FLOATS, 1))
    before = first.copy()
    forward(draw(FLOATS, 1, seed=1))
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("actions", [DISCRETE, CONTINUOUS])
def test_an_actor_critic_goes_through_episodes_as_in_tensorflow(actions, recurrent):
    network = actor_critic.make_actor_critic(
        "mlp", make_spec(FLOATS, actions), recurrent=recurrent, lstm_size=6, seed=1
    )
    step = network.in_numpy(array_of)
    observations = np.stack([draw(FLOATS, 3, seed=t) for t in range(5)])
    is_first = np.zeros((5, 3), bool)
    is_first[0] = True
    is_first[3, 1] = True  # One of three forgets.
    policy, values, last_state = network.unroll(
        tf.constant(observations), tf.constant(is_first), network.initial_state(3)
    )
    state = tuple(part.numpy() for part in network.initial_state(3))
    for t in range(5):
        policy_now, values_now, state = step(observations[t], is_first[t], state)
        assert type(policy_now) is type(policy)
        for of_numpy, of_tensorflow in zip(policy_now, policy, strict=True):
            assert of_numpy.dtype == np.float32
            np.testing.assert_allclose(of_numpy, of_tensorflow[t], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(values_now, values[t], rtol=1e-4, atol=1e-5)
    for of_numpy, of_tensorflow in zip(state, last_state, strict=True):
        np.testing.assert_allclose(of_numpy, of_tensorflow, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("actions", [DISCRETE, CONTINUOUS])
def test_new_values_of_an_actor_critic_count_at_once(actions):
    network = actor_critic.make_actor_critic(
        "mlp", make_spec(FLOATS, actions), recurrent=True, lstm_size=6, seed=1
    )
    variables = tf_variables.FlatVariables(network.trainable_variables)
    step = network.in_numpy(variables.array_of)
    batch, is_first = draw(FLOATS, 2), np.zeros(2, bool)
    state = tuple(np.ones_like(part) for part in network.initial_state(2))
    for number, name in enumerate(variables.layout.names):  # Each by itself.
        parts = variables.layout.split(variables.vector())
        parts[number] += 0.5
        variables.assign(variables.layout.join(parts))
        policy, values, next_state = step(batch, is_first, state)
        expected = network.unroll(
            tf.constant(batch[None]), tf.constant(is_first[None]), state
        )
        pairs = zip(
            [*policy, values, *next_state],
            [*(part[0] for part in expected[0]), expected[1][0], *expected[2]],
            strict=True,
        )
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_state_that_is_not_finite_is_forgotten_too():
    network = actor_critic.make_actor_critic(
        "mlp", make_spec(FLOATS), recurrent=True, lstm_size=6, seed=1
    )
    state = tuple(np.full((1, 6), np.nan, np.float32) for _ in range(2))
    _, values, _ = network.in_numpy(array_of)(draw(FLOATS, 1), np.array([True]), state)
    assert np.isfinite(values).all()


def test_convolutions_of_an_actor_critic_are_those_of_tensorflow():
    network = actor_critic.make_actor_critic(
        "minatar", make_spec(FLAGS), recurrent=False, seed=1
    )
    batch = draw(FLAGS, 2)
    policy, _, _ = network.in_numpy(array_of)(batch, np.zeros(2, bool), ())
    expected, _, _ = network.unroll(tf.constant(batch[None]), None, ())
    np.testing.assert_allclose(policy.logits, expected.logits[0], rtol=1e-4, atol=1e-5)


def test_large_numbers_stay_finite():
    network = actor_critic.make_actor_critic(
        "mlp", make_spec(FLOATS, CONTINUOUS), recurrent=True, lstm_size=6, seed=1
    )
    step = network.in_numpy(lambda variable: 1e4 * variable.numpy())
    state = tuple(part.numpy() for part in network.initial_state(1))
    policy, values, _ = step(draw(FLOATS, 1), np.array([True]), state)
    assert np.isfinite([*policy.mean[0], *policy.variance, *values]).all()


class Doubled(snt.Module):
    """A torso of a user's own, for TensorFlow only."""

    def __call__(self, observations):
        return 2.0 * tf.cast(snt.flatten(observations), tf.float32)


def test_a_network_with_a_part_of_ones_own_has_no_pass_in_numpy():
    of_own_torso = q_network.QNetwork(
        Doubled(), heads.QHead(3, 8), make_spec(FLOATS), seed=1
    )
    of_own_head = q_network.QNetwork(
        torsos.ConvTorso(kinds.MINATAR), snt.Linear(3), make_spec(FLAGS), seed=1
    )
    assert in_numpy.convert(Doubled(), array_of) is None
    assert in_numpy.convert(of_own_torso, array_of) is None
    assert in_numpy.convert(of_own_head, array_of) is None


def test_beside_a_gpu_there_is_no_pass_in_numpy(monkeypatch):
    network = q_network.make_network("mlp", make_spec(FLOATS), seed=1)
    assert in_numpy.convert(network, array_of) is not None
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [f"{kind}:0"])
    assert in_numpy.convert(network, array_of) is None


def test_a_layer_may_have_no_biases():
    torso = torsos.HiddenTorso(
        torsos.ConvTorso(kinds.MINATAR), snt.Linear(8, with_bias=False)
    )
    images = draw(FLAGS, 2)
    expected = torso(tf.constant(images))
    np.testing.assert_allclose(
        torso.in_numpy(array_of)(images), expected, rtol=1e-4, atol=1e-5
    )


class Brighter(torsos.ConvTorso):
    """A torso of the library with a forward pass of a user's own."""

    def __call__(self, images):
        return super().__call__(2.0 * torsos.as_float(images))


class Narrower(bodies.FeedForwardBody):
    """The same of a body."""

    def unroll(self, observations, is_first, state):
        features, state = super().unroll(observations, is_first, state)
        return features[..., :1], state


def test_a_forward_pass_that_was_overridden_is_not_taken_for_the_inherited_one():
    spec = make_spec(FLAGS)
    of_own_torso = q_network.QNetwork(
        Brighter(kinds.MINATAR), heads.QHead(3, 8), spec, seed=1
    )
    of_own_convolutions = actor_critic.DiscreteActorCritic(
        bodies.FeedForwardBody(
            torsos.HiddenTorso(Brighter(kinds.MINATAR), snt.Linear(8))
        ),
        spec,
        seed=1,
    )
    of_own_body = actor_critic.DiscreteActorCritic(
        Narrower(torsos.ConvTorso(kinds.MINATAR)), spec, seed=1
    )
    for network in (of_own_torso, of_own_convolutions, of_own_body):
        assert in_numpy.convert(network, array_of) is None
