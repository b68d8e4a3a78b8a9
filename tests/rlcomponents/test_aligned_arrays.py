"""Tests of rlcomponents.aligned_arrays."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents import aligned_arrays


@pytest.mark.parametrize("shape", [(), (3,), (32, 84, 84, 4)])
def test_tensorflow_takes_a_new_array_as_it_is(shape):
    array = aligned_arrays.empty(shape, np.dtype(np.float32))
    assert (array.shape, array.dtype) == (shape, np.float32)
    tensor = tf.convert_to_tensor(array)
    if shape:  # Of a scalar it takes the value.
        array[...] = 7
        np.testing.assert_array_equal(tensor, array)


def test_arrays_without_elements_can_be_made():
    assert aligned_arrays.empty((0, 3), np.dtype(np.uint8)).shape == (0, 3)
