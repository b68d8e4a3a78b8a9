"""Checks and clipping before the cut."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents.parameters import gradients
from rlcomponents.parameters import layout as layouts

LAYOUT = layouts.ParameterLayout(["w", "b"], [[2, 2], [2]])


def test_a_short_gradient_goes_through_as_it_is():
    gradient = np.array([3, 0, 0, 0, 0, 4], np.float32)  # Norm 5.
    for max_norm in (None, 5.0, 6.0):
        assert gradients.check_and_clip(gradient, LAYOUT, max_norm) is gradient


def test_a_long_gradient_is_scaled_in_a_copy():
    gradient = np.array([3, 0, 0, 0, 0, 4], np.float32)
    clipped = gradients.check_and_clip(gradient, LAYOUT, 2.5)
    assert clipped.dtype == np.float32
    np.testing.assert_allclose(clipped, [1.5, 0, 0, 0, 0, 2], rtol=1e-6)
    np.testing.assert_array_equal(gradient, [3, 0, 0, 0, 0, 4])


def test_clipping_agrees_with_tensorflow():
    layout = layouts.ParameterLayout(["w", "b"], [[100, 30], [30]])
    gradient = np.random.default_rng(0).normal(size=3030).astype(np.float32)
    (expected,), norm = tf.clip_by_global_norm([gradient], 7.0)
    ours = gradients.check_and_clip(gradient, layout, 7.0)
    np.testing.assert_allclose(ours, expected, rtol=1e-5)
    np.testing.assert_allclose(
        gradients.check(gradient, layout, "gradient"), norm, rtol=1e-5
    )


def test_a_norm_beyond_float32_is_no_reason_to_refuse():
    gradient = np.full(6, 1e30, np.float32)  # Its squares overflow float32.
    clipped = gradients.check_and_clip(gradient, LAYOUT, 1.0)
    np.testing.assert_allclose(clipped, np.full(6, 6**-0.5), rtol=1e-5)


def test_values_that_are_not_finite_are_counted_and_located():
    gradient = np.array([0, 0, np.inf, 0, np.nan, 0], np.float32)
    with pytest.raises(
        ValueError, match=r"2 of the 6 values of the gradient are not finite, .*'w'"
    ):
        gradients.check_and_clip(gradient, LAYOUT, 1.0)


@pytest.mark.parametrize(
    ("loss", "gradient", "problem"),
    [
        (1.0, [1, 2, 3, 4, 5, 6], None),
        (float("nan"), [1, 2, 3, 4, 5, 6], "loss is nan"),
        (-float("inf"), [np.nan] * 6, "loss is -inf"),
        (
            1.0,
            [0, 0, np.inf, 0, np.nan, 0],
            "gradient is inf in 2 of its 6 values, the first in 'w'",
        ),
        (1.0, [1e30] * 6, None),  # Only its norm overflows.
    ],
)
def test_what_is_not_finite_of_a_loss_and_its_gradient_is_named(
    loss, gradient, problem
):
    gradient = np.array(gradient, np.float32)
    assert gradients.describe_non_finite(loss, gradient, LAYOUT) == problem


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (np.zeros(5, np.float32), r"float32 of shape \(5,\): it must be"),
        (np.zeros((6, 1), np.float32), r"float32 of shape \(6, 1\)"),
        (np.zeros(6), r"float64 of shape \(6,\)"),
        (np.zeros(12, np.float32)[::2], "not contiguous"),
    ],
)
def test_other_forms_are_refused(gradient, message):
    with pytest.raises(ValueError, match=message):
        gradients.check(gradient, LAYOUT, "gradient")
