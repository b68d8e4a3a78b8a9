"""Tests of rlcomponents.networks.bodies."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from rlcomponents.networks import bodies, initialisation, torsos


def _observations(num_steps=6, batch_size=3, size=5):
    values = np.random.default_rng(0).normal(size=[num_steps, batch_size, size])
    return tf.constant(values, tf.float32)


def _recurrent_body(lstm_size=4):
    body = bodies.RecurrentBody(torsos.MLPTorso([7]), lstm_size)
    body.unroll(_observations(1, 1), tf.ones([1, 1], tf.bool), body.initial_state(1))
    initialisation.initialise(body, seed=3)
    return body


def _never(num_steps=6, batch_size=3):
    return tf.zeros([num_steps, batch_size], tf.bool)


def _random_state(body, batch_size=3):
    rng = np.random.default_rng(1)
    return tuple(
        tf.constant(rng.normal(size=part.shape), tf.float32)
        for part in body.initial_state(batch_size)
    )


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def test_a_feed_forward_body_is_the_torso_on_every_observation():
    torso = torsos.MLPTorso([7])
    body = bodies.FeedForwardBody(torso)
    observations = _observations()
    features, state = body.unroll(observations, _never(), body.initial_state(3))
    assert state == ()
    for step in range(6):
        expected = torso(observations[step])
        np.testing.assert_allclose(features[step], expected, rtol=1e-5, atol=1e-6)


def test_a_feed_forward_body_ignores_where_episodes_start():
    body = bodies.FeedForwardBody(torsos.MLPTorso([7]))
    observations = _observations()
    np.testing.assert_array_equal(
        body.unroll(observations, _never(), ())[0],
        body.unroll(observations, ~_never(), ())[0],
    )


def test_a_recurrent_body_matches_a_slow_numpy_version():
    """Row 0 starts an episode at steps 0 and 3, row 1 at step 5, row 2 never."""
    body = _recurrent_body(lstm_size=4)
    observations = _observations()
    is_first = np.zeros([6, 3], bool)
    is_first[[0, 3, 5], [0, 0, 1]] = True
    state = _random_state(body)
    features, next_state = body.unroll(observations, tf.constant(is_first), state)

    w_h, w_i, b, torso_b, torso_w = (v.numpy() for v in body.trainable_variables)
    assert (w_h.shape, w_i.shape) == ((4, 16), (7, 16))
    for row in range(3):
        hidden, cell = (part.numpy()[row] for part in state)
        for step in range(6):
            if is_first[step, row]:
                hidden, cell = np.zeros(4), np.zeros(4)
            x = np.maximum(observations.numpy()[step, row] @ torso_w + torso_b, 0.0)
            i, f, g, o = np.split(x @ w_i + hidden @ w_h + b, 4)
            cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
            hidden = _sigmoid(o) * np.tanh(cell)
            np.testing.assert_allclose(
                features[step, row], hidden, rtol=1e-4, atol=1e-6
            )
        for part, expected in zip(next_state, (hidden, cell), strict=True):
            np.testing.assert_allclose(part[row], expected, rtol=1e-4, atol=1e-6)


def test_the_first_step_of_an_episode_forgets_everything():
    body = _recurrent_body()
    observations = _observations(1)
    fresh = body.unroll(observations, _never(1), body.initial_state(3))
    broken = tuple(tf.fill(part.shape, np.nan) for part in body.initial_state(3))
    for state in (_random_state(body), broken):
        restarted = body.unroll(observations, ~_never(1), state)
        tf.nest.map_structure(np.testing.assert_array_equal, restarted, fresh)


def test_a_rollout_in_mid_episode_goes_on_from_the_carried_state():
    body = _recurrent_body()
    observations = _observations()
    whole, last = body.unroll(observations, _never(), body.initial_state(3))
    head, carried = body.unroll(observations[:2], _never(2), body.initial_state(3))
    tail, end = body.unroll(observations[2:], _never(4), carried)
    np.testing.assert_allclose(tf.concat([head, tail], 0), whole, rtol=1e-5, atol=1e-6)
    for one, other in zip(end, last, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    # And the carried state matters.
    forgetful, _ = body.unroll(observations[2:], _never(4), body.initial_state(3))
    assert not np.allclose(forgetful, tail, atol=1e-3)


def test_gradients_go_back_to_the_start_of_the_episode_and_no_further():
    body = _recurrent_body()
    observations = _observations(num_steps=4, batch_size=1)
    is_first = tf.constant([[False], [False], [True], [False]])
    state = _random_state(body, batch_size=1)
    with tf.GradientTape() as tape:
        tape.watch((observations, state))
        features, _ = body.unroll(observations, is_first, state)
        last = tf.reduce_sum(features[3])
    of_observations, of_state = tape.gradient(last, (observations, state))
    moved = np.any(of_observations != 0.0, axis=(1, 2))
    np.testing.assert_array_equal(moved, [False, False, True, True])
    assert not any(np.any(part) for part in of_state)


def test_a_graph_with_unknown_sizes_computes_the_same():
    body = _recurrent_body()
    observations, state = _observations(), _random_state(body)
    is_first = tf.constant(np.random.default_rng(0).random([6, 3]) < 0.3)
    compiled = tf.function(
        body.unroll,
        input_signature=[
            tf.TensorSpec([None, None, 5]),
            tf.TensorSpec([None, None], tf.bool),
            tuple(tf.TensorSpec([None, *part.shape[1:]]) for part in state),
        ],
        autograph=False,
    )
    tf.nest.map_structure(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6),
        compiled(observations, is_first, state),
        body.unroll(observations, is_first, state),
    )


@pytest.mark.parametrize("shape", [(6, 1), (1, 3), (6,), (5, 3)])
def test_starts_of_another_shape_are_refused(shape):
    """`[T, 1]` would spread over the batch."""
    body = _recurrent_body()
    with pytest.raises(ValueError, match=r"RecurrentBody\.unroll"):
        body.unroll(_observations(), tf.zeros(shape, tf.bool), body.initial_state(3))


def test_a_memory_without_cells_is_refused():
    with pytest.raises(ValueError, match="lstm_size is 0"):
        bodies.RecurrentBody(snt.Linear(3), 0)
