"""Tests of the papers' protocols."""

import pickle

import numpy as np
import pytest

from rlcomponents.evaluation import protocols, start_points


@pytest.mark.parametrize(
    ("name", "num_episodes", "max_episode_frames", "epsilon"),
    [
        ("plain", 30, None, None),
        ("noop_starts", 30, 18_000, 0.05),  # Five minutes at 60 frames a second.
        ("human_starts", 100, 108_000, 0.05),  # Half an hour.
    ],
)
def test_protocols_are_as_published(name, num_episodes, max_episode_frames, epsilon):
    assert protocols.PROTOCOLS[name] == protocols.Protocol(
        name, num_episodes, max_episode_frames, epsilon
    )


def test_other_games_than_atari_begin_after_null_ops_of_a_step_each():
    make = protocols.null_op_starts("minatar:breakout", {})
    environment = pickle.loads(pickle.dumps(make))(0)
    assert type(environment).__name__ == "NullOpStarts"
    first, second = (
        [make(seed).reset().observation.tobytes() for seed in range(9)]
        for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 5


@pytest.mark.atari
def test_atari_makes_null_ops_of_a_frame_each_and_cuts_nothing_itself():
    environment = protocols.null_op_starts("atari:pong", {"stack_frames": 2})(0)
    settings = environment._settings
    assert (settings.min_null_ops_frames, settings.max_null_ops_frames) == (1, 30)
    assert settings.max_episode_frames is None
    assert settings.stack_frames == 2


@pytest.mark.atari
def test_a_game_is_not_cut_by_its_environment_where_another_cap_is_asked_for():
    environment = protocols.uncut("atari:pong", {"stack_frames": 2})(0)
    assert environment._settings.max_episode_frames is None
    assert environment._settings.stack_frames == 2


def test_an_environment_without_null_action_is_refused():
    make = protocols.null_op_starts("control:cartpole:balance", {})
    with pytest.raises(ValueError, match="no action that does nothing"):
        make(0)


def test_points_are_recorded_in_an_environment_that_cuts_nothing():
    settings = protocols.recording_settings(
        "atari:pong", {"sticky_action_probability": 0.25}
    )
    assert settings["max_episode_frames"] is None
    assert settings["sticky_action_probability"] == 0.25
    assert settings["frame_skip_frames"] == 4
    assert protocols.recording_settings("catch", {}) == {
        "rows": 10,
        "columns": 5,
        "ball_visible_rows": None,
    }


def test_games_begin_at_recorded_points():
    board = np.zeros((10, 5), np.float32)
    board[2, 0] = board[9, 0] = 1.0  # Two rows down; two steps left of the middle.
    points = start_points.StartPoints(
        "catch",
        protocols.recording_settings("catch", {}),
        1,
        "a test",
        [start_points.RecordedGame(_seed_of_column(0), np.zeros(9, np.uint8))],
        [start_points.StartPoint(0, 2, 2, start_points.checksum(board))],
    )
    environment = protocols.point_starts(points, max_game_frames=6)(0)
    timestep = environment.reset()
    assert timestep.first()
    np.testing.assert_array_equal(timestep.observation, board)
    for _ in range(3):
        assert environment.step(1).mid()
    assert environment.step(1).last()  # 2 frames before, 4 after.


def _seed_of_column(column):
    """Returns a seed with which the first ball is there."""
    return next(
        seed for seed in range(100) if np.random.default_rng(seed).integers(5) == column
    )
