"""Tests of rlcomponents.networks.initialisation."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from rlcomponents.networks import initialisation


def _convolution_and_linear():
    module = snt.Sequential([snt.Conv2D(8, 3, padding="VALID"), snt.Linear(50)])
    module(tf.zeros([1, 3, 3, 4]))
    return module


def _values(module):
    return [variable.numpy() for variable in module.trainable_variables]


def test_each_layer_is_uniform_within_one_over_the_root_of_its_inputs():
    module = _convolution_and_linear()
    initialisation.initialise(module, seed=1)
    convolution, linear = module.submodules
    # 3 * 3 * 4 = 36 inputs to each unit of the convolution, 8 to each of the other.
    for layer, limit in ((convolution, 1 / 6), (linear, 1 / np.sqrt(8))):
        for variable in (layer.w, layer.b):
            assert np.max(np.abs(variable)) <= limit
        # The deviation of a uniform variable is its limit over the root of 3.
        np.testing.assert_allclose(np.std(layer.w), limit / np.sqrt(3), rtol=0.1)
        assert np.abs(np.mean(layer.w)) < 0.15 * limit
        assert np.std(layer.b) > 0.2 * limit


def test_equal_seeds_give_equal_bits_whatever_the_global_random_state():
    first, second = _convolution_and_linear(), _convolution_and_linear()
    initialisation.initialise(first, seed=7)
    tf.random.uniform([10])
    initialisation.initialise(second, seed=7)
    for one, other in zip(_values(first), _values(second), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_global_random_state_is_left_alone():
    tf.random.set_seed(0)
    expected = tf.random.uniform([4])
    module = _convolution_and_linear()
    tf.random.set_seed(0)
    initialisation.initialise(module, seed=7)
    np.testing.assert_array_equal(tf.random.uniform([4]), expected)


def test_other_seeds_and_other_variables_get_other_values():
    module = snt.Sequential([snt.Linear(4), snt.Linear(4)])
    module(tf.zeros([1, 4]))
    initialisation.initialise(module, seed=0)
    first_layer, second_layer = module.submodules
    assert not np.array_equal(first_layer.w, second_layer.w)
    assert not np.array_equal(first_layer.w[0], first_layer.b)
    before = first_layer.w.numpy()
    initialisation.initialise(module, seed=1)
    assert not np.array_equal(first_layer.w, before)


def test_values_never_change_between_versions():
    """A checkpoint's run is reproducible only while these numbers stay."""
    module = snt.Linear(2)
    module(tf.zeros([1, 1]))
    initialisation.initialise(module, seed=42)
    np.testing.assert_allclose(module.w, [[0.0560061932, -0.513231754]], rtol=1e-6)
    np.testing.assert_allclose(module.b, [-0.4351337, -0.0031661987], rtol=1e-6)


def _lstm(input_size, hidden_size):
    core = snt.LSTM(hidden_size)
    core(tf.zeros([1, input_size]), core.initial_state(1))
    return core


def test_an_lstm_is_two_linear_layers_of_which_the_first_has_biases():
    core = _lstm(input_size=100, hidden_size=25)
    initialisation.initialise(core, seed=1)
    input_gate, forget_gate, cell, output_gate = np.split(core.b.numpy(), 4)
    for values, limit in (
        (core.input_to_hidden, 1 / 10),
        (core.hidden_to_hidden, 1 / 5),
        (np.concatenate([input_gate, cell, output_gate]), 1 / 10),
        (forget_gate - 1.0, 1 / 10),
    ):
        assert np.max(np.abs(values)) <= limit + 1e-6
        np.testing.assert_allclose(np.std(values), limit / np.sqrt(3), rtol=0.25)


def test_an_lstm_remembers_at_first():
    """Of a cell's content, sigmoid(1) outlasts a step, but for the random biases."""
    core = _lstm(input_size=4, hidden_size=8)
    initialisation.initialise(core, seed=1)
    for variable in (core.input_to_hidden, core.hidden_to_hidden):
        variable.assign(tf.zeros_like(variable))
    _, state = core(
        tf.zeros([1, 4]), snt.LSTMState(tf.zeros([1, 8]), 10.0 * tf.ones([1, 8]))
    )
    np.testing.assert_allclose(state.cell / 10.0, [[0.731] * 8], atol=0.2)  # sigmoid(1)


def test_values_of_an_lstm_never_change_between_versions():
    core = _lstm(input_size=1, hidden_size=1)
    initialisation.initialise(core, seed=42)
    np.testing.assert_allclose(
        core.b, [-0.4351337, 0.9968338, 0.43091702, -0.9595959], rtol=1e-6
    )
    np.testing.assert_allclose(
        core.input_to_hidden,
        [[0.056006193, -0.51323175, -0.24594164, -0.75896215]],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        core.hidden_to_hidden,
        [[0.92538357, -0.9695904, 0.3076806, -0.85873365]],
        rtol=1e-6,
    )


def test_an_lstm_with_a_projection_is_refused():
    core = snt.LSTM(4, projection_size=2)
    core(tf.zeros([1, 3]), core.initial_state(1))
    with pytest.raises(ValueError, match="4 trainable variables, 3 of them"):
        initialisation.initialise(core, seed=0)


def test_parts_that_have_variables_are_refused():
    built, fresh = snt.Linear(3), snt.Linear(3)
    built(tf.zeros([1, 4]))
    with pytest.raises(ValueError, match="would share"):
        initialisation.check_unbuilt(fresh, built)
    initialisation.check_unbuilt(fresh)


def test_one_part_in_two_places_is_refused():
    part = snt.Linear(3)
    with pytest.raises(ValueError, match="two parts at once"):
        initialisation.check_unbuilt(part, part)


def test_a_module_without_variables_is_refused():
    with pytest.raises(ValueError, match="does not currently contain any"):
        initialisation.initialise(snt.Linear(3), seed=0)


def test_a_layer_that_would_keep_unseeded_values_is_refused():
    module = snt.Sequential([snt.Linear(3), snt.LayerNorm(-1, True, True)])
    module(tf.zeros([1, 4]))
    with pytest.raises(ValueError, match="4 trainable variables, 2 of them in Linear"):
        initialisation.initialise(module, seed=0)
