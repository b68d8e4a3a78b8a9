"""Tests of small animated pictures; each is decoded again."""

import io
import sys

import numpy as np
import pytest
from PIL import Image

from rlcomponents.environments import catch
from rlcomponents.evaluation import episodes, gifs, random_policy
from rlcomponents.testing import fakes

LARGE = 1_000_000


def decode(gif):
    """Returns `[num_frames, H, W, 3]` uint8, and the milliseconds of each frame."""
    pictures, millisecs = [], []
    with Image.open(io.BytesIO(gif)) as file:
        for index in range(file.n_frames):
            file.seek(index)
            pictures.append(np.asarray(file.convert("RGB")))
            millisecs.append(file.info["duration"])
    return np.stack(pictures), millisecs


def noise(num_screens, height, width):
    generator = np.random.default_rng(0)
    shape = (num_screens, height, width, 3)
    return list(generator.integers(0, 256, shape).astype(np.uint8))


def test_screens_of_few_colours_are_kept_to_the_pixel():
    screens = [np.full((210, 160, 3), 7 * index, np.uint8) for index in range(20)]
    for index, screen in enumerate(screens):
        screen[index * 10 : index * 10 + 10, 30:50] = (200, 10, 255 - index)
    frames, millisecs = decode(gifs.encode(screens, frames_per_sec=15, max_bytes=LARGE))
    np.testing.assert_array_equal(frames, screens)
    assert millisecs == [70] * 20  # Of 66.7, in hundredths of a second.


def test_a_screen_that_does_not_change_is_shown_for_as_long():
    screens = [np.full((4, 4, 3), value, np.uint8) for value in (0, 9, 9, 9, 0)]
    frames, millisecs = decode(gifs.encode(screens, frames_per_sec=10, max_bytes=LARGE))
    assert frames[:, 0, 0, 0].tolist() == [0, 9, 0]
    assert millisecs == [100, 300, 100]


def test_it_repeats_for_ever():
    screens = [np.full((4, 4, 3), value, np.uint8) for value in (0, 9)]
    gif = gifs.encode(screens, frames_per_sec=10, max_bytes=LARGE)
    assert b"NETSCAPE2.0\x03\x01\x00\x00" in gif


def test_a_film_that_is_too_large_is_cut_at_its_end():
    screens = noise(30, 40, 40)
    whole = gifs.encode(screens, frames_per_sec=10, max_bytes=LARGE)
    gif = gifs.encode(screens, frames_per_sec=10, max_bytes=20_000)
    assert 15_000 < len(gif) <= 20_000 < len(whole)
    frames, kept = decode(whole)[0], decode(gif)[0]
    assert 1 < len(kept) < len(frames)
    np.testing.assert_array_equal(kept, frames[: len(kept)])


def test_a_screen_that_is_too_large_alone_is_refused():
    with pytest.raises(ValueError, match="more than the 100 that are allowed"):
        gifs.encode(noise(3, 40, 40), frames_per_sec=10, max_bytes=100)


def test_no_screen_is_refused():
    with pytest.raises(ValueError, match="at least one screen"):
        gifs.encode([], frames_per_sec=10, max_bytes=LARGE)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"-e '\.\[runs\]'"):
        gifs.encode(noise(1, 4, 4), frames_per_sec=10, max_bytes=LARGE)


# Filming.


def screens_after(film, steps):
    for length_steps in steps:
        film.watch(length_steps)
    return [int(screen[0, 0, 0]) for screen in film.screens]


@pytest.fixture
def film():
    """Films screens that are 0, 1, 2, ... as often as they are looked at."""
    looks = iter(range(100))
    screen = np.zeros((1, 1, 3), np.uint8)  # One buffer, as environments may have.

    def look():
        screen[:] = next(looks)
        return screen

    return gifs.Film(look, max_steps=3)


def test_a_film_is_the_screen_before_any_action_and_those_after_each(film):
    assert screens_after(film, [0, 1, 2]) == [0, 1, 2]


def test_a_film_ends_after_so_many_steps(film):
    assert screens_after(film, [0, 1, 2, 3, 4, 5]) == [0, 1, 2, 3]


def test_a_film_of_a_game_that_was_discarded_begins_anew(film):
    assert screens_after(film, [0, 1, 0, 1]) == [2, 3]


def test_large_screens_are_scaled_down_by_a_whole_number_before_they_are_kept():
    screen = np.zeros((240, 320, 3), np.uint8)
    screen[100:, 200:] = 255
    film = gifs.Film(lambda: screen, max_steps=3)
    film.watch(0)
    np.testing.assert_array_equal(film.screens, [screen[::2, ::2]])


def test_a_screen_of_another_size_ends_the_film_with_a_sentence():
    sizes = iter([400, 500])
    film = gifs.Film(lambda: np.zeros((next(sizes), 1, 3), np.uint8), max_steps=3)
    film.watch(0)
    with pytest.raises(ValueError, match=r"shape \(500, 1, 3\) after \(400, 1, 3\)"):
        film.watch(1)


def test_the_first_game_of_an_evaluation_is_filmed_from_beginning_to_end():
    game = catch.Catch(catch.CatchSettings(), 0)
    film = gifs.Film(game.screen, max_steps=100)
    episodes.play_episodes(
        game, random_policy.RandomActor(game.action_spec(), 0), 3, watch=film.watch
    )
    # The ball falls through ten rows.
    assert len(film.screens) == 10
    frames, _ = decode(gifs.encode(film.screens, frames_per_sec=10, max_bytes=LARGE))
    np.testing.assert_array_equal(frames, film.screens)


def test_lives_of_one_game_are_one_film():
    steps = []
    game = fakes.ScriptedGame([[1.0, 1.0], [1.0]])
    actor = random_policy.RandomActor(game.action_spec(), 0)
    episodes.play_episodes(game, actor, 2, watch=steps.append)
    assert steps == [0, 1, 2, 3]


def test_a_game_that_is_cut_is_filmed_up_to_there():
    steps = []
    game = fakes.ScriptedGame([[1.0] * 100])
    actor = random_policy.RandomActor(game.action_spec(), 0)
    episodes.play_episodes(game, actor, 2, max_episode_steps=3, watch=steps.append)
    assert steps == [0, 1, 2, 3]


def test_a_game_that_is_not_finite_is_watched_no_further():
    steps = []
    game = fakes.FaultyGame([[1.0, 1.0]], {(0, 0, 2): {"reward": np.nan}})
    actor = random_policy.RandomActor(game.action_spec(), 0)
    episodes.play_episodes(game, actor, 2, watch=steps.append)
    assert steps == [0, 1, 0, 1, 2]
