"""Tests of rlcomponents.networks.heads."""

import numpy as np
import tensorflow as tf

from rlcomponents.networks import heads, initialisation


def _features(batch_size=6, size=5):
    return tf.constant(
        np.random.default_rng(0).normal(size=[batch_size, size]), "float32"
    )


def _built(head):
    head(_features())
    initialisation.initialise(head, seed=3)
    return head


def test_the_q_head_is_one_hidden_layer_with_relu_and_one_linear_output():
    head = _built(heads.QHead(num_actions=3, hidden_size=4))
    b_hidden, w_hidden, b_out, w_out = (v.numpy() for v in head.trainable_variables)
    hidden = np.maximum(_features().numpy() @ w_hidden + b_hidden, 0.0)
    np.testing.assert_allclose(head(_features()), hidden @ w_out + b_out, rtol=1e-4)
    assert (w_hidden.shape, w_out.shape) == ((5, 4), (4, 3))


def test_a_dueling_head_is_the_value_plus_centred_advantages():
    head = _built(heads.DuelingHead(num_actions=3, hidden_size=4))
    streams = {}
    for stream in ("value", "advantage"):
        b_hidden, w_hidden, b_out, w_out = (
            v.numpy()
            for v in head.trainable_variables
            if v.name.split("/")[-3] == stream
        )
        hidden = np.maximum(_features().numpy() @ w_hidden + b_hidden, 0.0)
        streams[stream] = hidden @ w_out + b_out
    value, advantage = streams["value"], streams["advantage"]
    assert (value.shape, advantage.shape) == ((6, 1), (6, 3))
    np.testing.assert_allclose(
        head(_features()),
        value + advantage - advantage.mean(axis=1, keepdims=True),
        rtol=1e-4,
        atol=1e-6,
    )


def test_a_dueling_head_has_the_value_as_its_mean():
    """So the split into value and advantages is unique."""
    head = _built(heads.DuelingHead(num_actions=3, hidden_size=4))
    shift = next(
        v for v in head.trainable_variables if "advantage/linear_1/b" in v.name
    )
    before = head(_features()).numpy()
    shift.assign_add([5.0, 5.0, 5.0])  # All actions alike: no change.
    np.testing.assert_allclose(head(_features()), before, atol=1e-5)
    shift.assign_add([3.0, 0.0, 0.0])  # One of three: + 3 - 1, and - 1 for the others.
    np.testing.assert_allclose(
        head(_features()), before + np.array([2.0, -1.0, -1.0]), atol=1e-5
    )
