"""Tests of filming evaluations, on real files."""

import errno
import os
import pathlib

import numpy as np
import pytest

from rlcomponents.evaluation import episodes, gifs, random_policy
from rlcomponents.nodes import evaluation_videos
from rlcomponents.runs import run_folder
from rlcomponents.testing import fakes

MAX_STEPS = 1_000


class PaintedGame(fakes.ScriptedGame):
    """Three steps; the screen counts the looks at it."""

    def __init__(self):
        super().__init__([[1.0, 1.0, 1.0]])
        self.num_looks = 0

    def screen(self):
        self.num_looks += 1
        return np.full((8, 8, 3), self.num_looks, np.uint8)


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


@pytest.fixture
def make_videos(folder):
    def make(game=None, **settings):
        return evaluation_videos.EvaluationVideos(
            folder,
            game or PaintedGame(),
            **{
                "num_videos": 5,
                "max_video_steps": 10,
                "frames_per_sec": 10,
                "max_steps": MAX_STEPS,
                **settings,
            },
        )

    return make


def evaluate(videos, game, *all_steps):
    actor = random_policy.RandomActor(game.action_spec(), 0)
    for steps in all_steps:
        watch = videos.begin(steps, final=steps >= MAX_STEPS)
        episodes.play_episodes(game, actor, 2, watch=watch)
        videos.save(steps)


def filmed(folder):
    paths = sorted(folder.path.glob("videos/*"))
    return [int(path.stem.removeprefix("step_")) for path in paths]


def test_the_first_game_of_an_evaluation_becomes_a_gif(make_videos, folder):
    game = PaintedGame()
    evaluate(make_videos(game), game, 100)
    [path] = folder.path.glob("videos/*")
    assert path == folder.video_gif(100)
    screens = [np.full((8, 8, 3), value, np.uint8) for value in (1, 2, 3, 4)]
    assert path.read_bytes() == gifs.encode(
        screens, frames_per_sec=10, max_bytes=1_000_000
    )
    assert game.num_looks == 4  # The second game is not looked at.


def test_films_are_short(make_videos, folder):
    game = PaintedGame()
    evaluate(make_videos(game, max_video_steps=1), game, 100)
    assert game.num_looks == 2


@pytest.mark.parametrize(
    ("num_videos", "steps"),
    [
        (0, []),
        (1, [1_000]),
        (2, [10, 1_000]),
        (5, [10, 260, 510, 760, 1_000]),
        (1_000, [*range(10, 1_001, 10)]),
    ],
)
def test_so_many_films_at_most_are_spread_over_the_run(
    make_videos, folder, num_videos, steps
):
    game = PaintedGame()
    videos = make_videos(game, num_videos=num_videos)
    evaluate(videos, game, *range(10, 1_001, 10))
    assert filmed(folder) == steps


def test_a_run_that_goes_on_keeps_the_distance(make_videos, folder):
    game = PaintedGame()
    evaluate(make_videos(game, last_steps=300), game, *range(310, 1_001, 10))
    assert filmed(folder) == [550, 800, 1_000]


def test_an_environment_without_pictures_is_not_filmed(make_videos, folder, capsys):
    game = fakes.ScriptedGame([[1.0]])
    evaluate(make_videos(game), game, 100, MAX_STEPS)
    assert not (folder.path / "videos").exists()
    assert capsys.readouterr().out == ""


def test_a_film_stays_within_its_bytes(make_videos, folder, monkeypatch):
    generator = np.random.default_rng(0)
    game = PaintedGame()
    game.screen = lambda: generator.integers(0, 256, (60, 60, 3)).astype(np.uint8)
    monkeypatch.setattr(evaluation_videos, "MAX_VIDEO_BYTES", 10_000)
    evaluate(make_videos(game), game, 100)
    assert 0 < folder.video_gif(100).stat().st_size <= 10_000


@pytest.mark.parametrize("num_good", [0, 2], ids=["at once", "in mid-game"])
def test_an_environment_that_cannot_draw_is_named_once_and_evaluated_all_the_same(
    make_videos, folder, capsys, num_good
):
    game = PaintedGame()
    draw = game.screen

    def fail_later():
        if game.num_looks >= num_good:
            raise RuntimeError("there is no OpenGL")
        return draw()

    game.screen = fail_later
    evaluate(make_videos(game), game, 100, 500, MAX_STEPS)
    assert filmed(folder) == []
    assert len(game.actions) == 3 * 2 * 3
    assert capsys.readouterr().out == (
        "No videos of evaluations from here on; all else goes on "
        "(RuntimeError: there is no OpenGL).\n"
    )


def test_a_film_that_cannot_be_encoded_is_named_once(make_videos, folder, capsys):
    game = PaintedGame()
    game.screen = lambda: np.zeros((2, 2, 5), np.uint8)  # Five colours.
    evaluate(make_videos(game), game, 100, 500, MAX_STEPS)
    assert filmed(folder) == []
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("No videos of evaluations from here on;")


def test_a_full_disk_costs_a_film_and_not_those_after_it(
    make_videos, folder, capsys, monkeypatch
):
    game = PaintedGame()
    videos = make_videos(game)

    def refuse(path, payload):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "write_bytes", refuse)
        evaluate(videos, game, 100)
    evaluate(videos, game, 500)
    assert filmed(folder) == [500]
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("CANNOT WRITE")
    assert "No space left" in first
    assert second.endswith("can be written again.")
