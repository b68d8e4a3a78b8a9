"""Tests of rlcomponents.replay.frames."""

import numpy as np
import pytest

from rlcomponents.replay import frames


@pytest.mark.parametrize("num_frames", [1, 3, 4, 5])
@pytest.mark.parametrize(
    "dtype", [np.uint8, np.bool_, np.float16, np.float32, np.float64, ">i4"]
)
def test_frames_are_put_side_by_side_whatever_their_kind(num_frames, dtype):
    given = np.arange(num_frames * 6).reshape(num_frames, 6).astype(dtype)
    out = np.zeros((6, num_frames), dtype)
    frames.stack(given, out)
    np.testing.assert_array_equal(out, given.T)


@pytest.mark.parametrize("num_frames", [3, 4])
def test_a_batch_is_stacked_item_by_item(num_frames):
    given = np.arange(2 * num_frames * 6).reshape(2, num_frames, 3, 2)
    expected = np.stack([np.moveaxis(item, 0, -1) for item in given])
    np.testing.assert_array_equal(frames.stacked(given), expected)
