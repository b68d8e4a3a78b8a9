"""Tests of rlcomponents.replay.layout."""

import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.replay import layout as replay_layout

STACK = specs.FrameStack((2, 2, 3), np.uint8, 0, 255)
VECTOR = dm_env_specs.Array((2,), np.float32)


def _stack(*frames):
    """Frames of one colour each."""
    return np.stack([np.full((2, 2), frame, np.uint8) for frame in frames], axis=-1)


def _colours(rows):
    return [None if frame is None else frame[0, 0] for [frame] in rows]


def test_of_a_stack_only_the_newest_frame_is_stored():
    layout = replay_layout.ObservationLayout(STACK)
    [frame] = layout.row(layout.leaves(_stack(1, 2, 3)))
    np.testing.assert_array_equal(frame, np.full((2, 2), 3))


def test_all_frames_of_the_first_stack_are_stored_oldest_first():
    layout = replay_layout.ObservationLayout(STACK)
    assert _colours(layout.first_rows(layout.leaves(_stack(1, 2, 3)))) == [1, 2, 3]


def test_anything_else_is_stored_whole():
    layout = replay_layout.ObservationLayout(VECTOR)
    leaves = layout.leaves(np.array([1.0, 2.0], np.float32))
    [[stored]] = layout.first_rows(leaves)
    np.testing.assert_array_equal(stored, [1.0, 2.0])
    assert layout.columns[0].item_shape == (2,)


def test_nested_observations_have_one_column_a_leaf():
    layout = replay_layout.ObservationLayout({"camera": STACK, "speed": VECTOR})
    assert [column.name for column in layout.columns] == [
        "observation/camera",
        "observation/speed",
    ]
    leaves = layout.leaves(
        {"camera": _stack(1, 2, 3), "speed": np.zeros(2, np.float32)}
    )
    rows = layout.first_rows(leaves)
    assert [speed is None for _, speed in rows] == [True, True, False]
    assert set(layout.observation(leaves)) == {"camera", "speed"}


def test_double_precision_is_stored_in_the_precision_of_the_spec():
    layout = replay_layout.ObservationLayout(VECTOR)
    [leaf] = layout.leaves(np.array([0.1, 0.2]))
    assert leaf.dtype == np.float32


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        pytest.param(
            np.zeros(3, np.float32), r"shape \(3,\) .* says \(2,\)", id="shape"
        ),
        pytest.param(np.zeros(2, complex), "complex128 .* says float32", id="dtype"),
        pytest.param(np.array([np.nan, 0]), "observation is not finite", id="nan"),
        pytest.param({"x": np.zeros(2)}, "structure", id="structure"),
    ],
)
def test_observations_that_do_not_fit_their_spec_are_refused(observation, message):
    layout = replay_layout.ObservationLayout(VECTOR)
    with pytest.raises(ValueError, match=message):
        layout.leaves(observation)


def test_an_empty_observation_is_refused():
    with pytest.raises(ValueError, match="nothing to store"):
        replay_layout.ObservationLayout({})
