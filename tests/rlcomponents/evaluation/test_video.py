"""Tests of filming a game; the film is read back."""

import sys

import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents.evaluation import random_policy, video

SPEC = specs.DiscreteArray(2)


class PaintedGame(dm_env.Environment):
    """Two lives of three steps; the screen is black, and white in the second life."""

    height, width = 5, 3

    def __init__(self):
        self._life, self._step = -1, 0
        self.game_over = False

    def reset(self):
        self._life, self._step = self._life + 1, 0
        return dm_env.restart(np.zeros(1))

    def step(self, action):
        self._step += 1
        if self._step < 3:
            return dm_env.transition(0.0, np.zeros(1))
        self.game_over = self._life == 1
        return dm_env.termination(0.0, np.zeros(1))

    def screen(self):
        return np.full((self.height, self.width, 3), 255 * self._life, np.uint8)

    def observation_spec(self):
        return specs.Array((1,), np.float64)

    def action_spec(self):
        return SPEC


def read(path):
    """Returns `[num_frames, H, W, 3]` uint8 and the frame rate."""
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    reader = imageio_ffmpeg.read_frames(str(path))
    facts = next(reader)
    width, height = facts["size"]
    frames = [np.frombuffer(frame, np.uint8) for frame in reader]
    return np.stack(frames).reshape(-1, height, width, 3), facts["fps"]


def test_a_whole_game_is_filmed_life_after_life(tmp_path):
    path = tmp_path / "game.mp4"
    num_frames = video.record(
        PaintedGame(),
        random_policy.RandomActor(SPEC, 0),
        path,
        frames_per_sec=15,
        max_frames=100,
    )
    film, frames_per_sec = read(path)
    assert frames_per_sec == 15
    # The first screen and three steps; the first life's end is the second one's start.
    assert len(film) == num_frames == 1 + 3 + 3
    assert film.shape[1:] == (400, 240, 3)  # 80 times, an even factor.
    means = film.mean(axis=(1, 2, 3))
    np.testing.assert_allclose(means, [0, 0, 0, 0, 255, 255, 255], atol=8)


@pytest.mark.parametrize("max_frames", [1, 2])
def test_the_film_ends_after_the_frames_asked_for(tmp_path, max_frames):
    num_frames = video.record(
        PaintedGame(),
        random_policy.RandomActor(SPEC, 0),
        tmp_path / "game.mp4",
        frames_per_sec=15,
        max_frames=max_frames,
    )
    assert num_frames == max_frames
    assert len(read(tmp_path / "game.mp4")[0]) == max_frames


def test_pixels_are_enlarged_without_blur():
    screen = np.arange(210 * 160 * 3, dtype=np.uint8).reshape(210, 160, 3)
    large = video._enlarge(screen)
    assert large.shape == (420, 320, 3)
    np.testing.assert_array_equal(large[::2, ::2], screen)
    np.testing.assert_array_equal(large[1::2, 1::2], screen)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "game.avi"}, r"\.mp4"),
        ({"path": "no/folder/game.mp4"}, r"cannot be written \(No such file or dir"),
        ({"max_frames": 0}, "at least 1"),
        ({"frames_per_sec": 0}, "at least 1"),
        ({"environment": object()}, r"environment has no screen\(\)"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_played(change, message):
    arguments = {
        "environment": PaintedGame(),
        "actor": None,
        "path": "game.mp4",
        "frames_per_sec": 15,
        "max_frames": 2,
    }
    with pytest.raises(ValueError, match=message):
        video.record(**arguments | change)


def test_a_screen_that_cannot_be_filmed_is_refused(tmp_path):
    game = PaintedGame()
    game.screen = lambda: np.zeros((2, 2, 3))
    with pytest.raises(ValueError, match=r"returned float64 of shape \(2, 2, 3\)"):
        video.record(
            game,
            random_policy.RandomActor(SPEC, 0),
            tmp_path / "game.mp4",
            frames_per_sec=15,
            max_frames=2,
        )


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=r"-e '\.\[video\]'"):
        video.record(
            PaintedGame(),
            random_policy.RandomActor(SPEC, 0),
            tmp_path / "game.mp4",
            frames_per_sec=15,
            max_frames=2,
        )
