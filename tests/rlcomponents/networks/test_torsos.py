"""Tests of rlcomponents.networks.torsos."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents.networks import kinds, torsos


@pytest.mark.parametrize(
    ("observations", "floats"),
    [
        pytest.param(np.array([0, 51, 255], np.uint8), [0.0, 0.2, 1.0], id="uint8"),
        pytest.param(np.array([False, True]), [0.0, 1.0], id="bool"),
        pytest.param(np.array([-3.0, 300.0]), [-3.0, 300.0], id="float64"),
    ],
)
def test_images_are_scaled_and_floats_pass(observations, floats):
    result = torsos.as_float(tf.constant(observations))
    assert result.dtype == tf.float32
    np.testing.assert_allclose(result, floats, rtol=1e-6)


def test_a_byte_becomes_exactly_its_product_with_a_255th():
    every_byte = np.arange(256, dtype=np.uint8)
    result = torsos.as_float(tf.constant(every_byte))
    np.testing.assert_array_equal(
        result, every_byte.astype(np.float32) * np.float32(1.0 / 255.0)
    )


@pytest.mark.parametrize(
    ("convolutions", "shape", "num_features"),
    [
        pytest.param(kinds.NATURE_DQN, (84, 84, 4), 7 * 7 * 64, id="nature"),
        pytest.param(kinds.NIPS_DQN, (84, 84, 4), 9 * 9 * 32, id="nips"),
        pytest.param(kinds.MINATAR, (10, 10, 4), 8 * 8 * 16, id="minatar"),
    ],
)
def test_published_stacks_have_the_published_number_of_features(
    convolutions, shape, num_features
):
    torso = torsos.ConvTorso(convolutions)
    assert torso(tf.zeros([2, *shape], tf.uint8)).shape == (2, num_features)


def test_a_convolution_matches_sums_over_its_windows():
    torso = torsos.ConvTorso([kinds.Convolution(channels=2, kernel=2, stride=2)])
    images = np.random.default_rng(0).normal(size=[3, 4, 6, 5]).astype(np.float32)
    features = torso(tf.constant(images)).numpy().reshape(3, 2, 3, 2)
    b, w = (variable.numpy() for variable in torso.trainable_variables)
    for row in range(2):
        for column in range(3):
            window = images[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            sums = np.einsum("bhwc,hwco->bo", window, w) + b
            np.testing.assert_allclose(
                features[:, row, column], np.maximum(sums, 0.0), atol=1e-5
            )


def test_an_mlp_flattens_and_has_a_relu_after_each_layer():
    torso = torsos.MLPTorso([7])
    observations = np.random.default_rng(0).normal(size=[3, 2, 5]).astype(np.float32)
    features = torso(tf.constant(observations))
    b, w = (variable.numpy() for variable in torso.trainable_variables)
    expected = np.maximum(observations.reshape(3, 10) @ w + b, 0.0)
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-6)


def test_an_mlp_without_layers_is_the_flat_observation():
    features = torsos.MLPTorso([])(tf.constant([[[1.0, 2.0], [3.0, 4.0]]]))
    np.testing.assert_array_equal(features, [[1.0, 2.0, 3.0, 4.0]])


@pytest.mark.parametrize("size", [8, 35, 36, 39, 40, 84])
def test_output_size_is_what_the_convolutions_leave(size):
    predicted = kinds.output_size(kinds.NATURE_DQN, size)
    if predicted < 1:
        assert size < 36
        return
    torso = torsos.ConvTorso(kinds.NATURE_DQN)
    features = torso(tf.zeros([1, size, size, 1]))
    assert features.shape[-1] == predicted**2 * 64
