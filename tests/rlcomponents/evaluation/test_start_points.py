"""Tests of recorded points and their files."""

import collections
import json

import numpy as np
import pytest

from rlcomponents import array_files
from rlcomponents.environments import atari, catch, minatar
from rlcomponents.evaluation import random_policy, start_points


def make_catch(seed):
    return catch.Catch(catch.CatchSettings(), seed)


def make_breakout(seed):
    return minatar.MinAtar("breakout", minatar.MinAtarSettings(), seed)


def make_pong(seed):
    return atari.make("pong", atari.AtariSettings(sticky_action_probability=0.25), seed)


def record(make_environment=make_catch, *, num_games=3, max_steps=1_000):
    actor = random_policy.RandomActor(make_environment(0).action_spec(), 0)
    return [
        start_points.record(make_environment, actor, seed, max_steps=max_steps)
        for seed in range(num_games)
    ]


def make_starts(*, num_starts=5, **changes):
    recorded = record()
    points = start_points.sample(
        [checksums for _, checksums in recorded],
        num_starts,
        frames_per_step=4,
        seed=0,
    )
    starts = start_points.StartPoints(
        "catch", {"rows": 10}, 4, "a test", [game for game, _ in recorded], points
    )
    return starts._replace(**changes)


def rewrite(path, **changes):
    """Changes arrays of a file; None leaves one out."""
    arrays = {**array_files.read(path), **changes}
    array_files.write(path, {k: v for k, v in arrays.items() if v is not None})


# --------------------------------------------------------------------------- recording


def test_a_whole_game_is_recorded():
    [(game, checksums)] = record(num_games=1)
    assert game.seed == 0
    assert game.actions.shape == (9,)  # Ten rows.
    assert len(checksums) == 9


def test_a_recorded_game_is_cut_where_that_is_asked_for():
    [(game, checksums)] = record(num_games=1, max_steps=4)
    assert len(game.actions) == len(checksums) == 4


@pytest.mark.parametrize(
    "make_environment",
    [make_catch, make_breakout, pytest.param(make_pong, marks=pytest.mark.atari)],
)
def test_every_moment_is_reached_again(make_environment):
    [(game, checksums)] = record(make_environment, num_games=1, max_steps=30)
    for num_steps, checksum in enumerate(checksums):
        point = start_points.StartPoint(0, num_steps, 4 * num_steps, checksum)
        environment = make_environment(game.seed)
        observation = start_points.reach(environment, game, point, 0)
        assert start_points.checksum(observation) == checksum


def test_points_are_different_and_every_moment_is_as_likely():
    # A game of 8 moments and one of 2: in 500 draws of 2 of 10, each 100 times.
    checksums = [list(range(8)), [8, 9]]
    counts = collections.Counter()
    for seed in range(500):
        points = start_points.sample(checksums, 2, frames_per_step=4, seed=seed)
        assert points[0] != points[1]
        counts.update(point.checksum for point in points)
        for point in points:
            assert checksums[point.game][point.num_steps] == point.checksum
            assert point.frames_before == 4 * point.num_steps
    assert len(counts) == 10
    assert all(60 <= count <= 140 for count in counts.values())  # 4.5 deviations.


@pytest.mark.parametrize("num_starts", [0, 11])
def test_more_points_than_moments_are_refused(num_starts):
    with pytest.raises(ValueError, match=r"num_starts is .* play has 10 moments"):
        start_points.sample([range(10)], num_starts, frames_per_step=1, seed=0)


def test_a_checksum_tells_values_shapes_and_types_apart():
    observations = [
        np.zeros(4, np.uint8),
        np.zeros((2, 2), np.uint8),
        np.zeros(4, np.int8),
        np.array([0, 0, 0, 1], np.uint8),
        {"a": np.zeros(4, np.uint8), "b": np.zeros(4, np.uint8)},
    ]
    assert len({start_points.checksum(each) for each in observations}) == 5


def test_a_checksum_is_of_values_not_of_their_place_in_memory():
    stack = np.arange(12).reshape(3, 4)
    assert start_points.checksum(stack.T) == start_points.checksum(stack.T.copy())


# ----------------------------------------------------------------------- not reproduced


def test_a_point_that_leads_elsewhere_is_refused():
    starts = make_starts()
    point = starts.points[0]
    game = starts.games[point.game]
    wrong = point._replace(checksum=point.checksum ^ 1)
    with pytest.raises(
        start_points.NotReproducedError,
        match=r"Start point 7 could not be reached \(its observation is not the rec",
    ):
        start_points.reach(make_catch(game.seed), game, wrong, 7)


def test_actions_that_the_environment_does_not_have_are_refused():
    game = start_points.RecordedGame(0, np.array([1, 9, 1], np.uint8))
    point = start_points.StartPoint(0, 3, 12, 0)
    with pytest.raises(start_points.NotReproducedError, match="Action 9 does not exi"):
        start_points.reach(make_catch(0), game, point, 0)


# ------------------------------------------------------------------------------- files


def test_a_file_comes_back_as_it_was(tmp_path):
    starts = make_starts()
    start_points.write(tmp_path / "starts.npz", starts)
    found = start_points.read(tmp_path / "starts.npz")
    assert found._replace(games=()) == starts._replace(games=())
    for game, expected in zip(found.games, starts.games, strict=True):
        assert game.seed == expected.seed
        np.testing.assert_array_equal(game.actions, expected.actions)


def test_a_file_loads_without_pickle_and_takes_a_byte_an_action(tmp_path):
    path = tmp_path / "starts.npz"
    start_points.write(path, make_starts())
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["actions"].dtype == np.uint8
        assert arrays["actions"].shape == (27,)  # Three games of nine.
        assert json.loads(str(arrays["header"]))["player"] == "a test"


def test_continuous_actions_come_back_to_the_bit(tmp_path):
    actions = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    games = [start_points.RecordedGame(3, actions)]
    points = [start_points.StartPoint(0, 6, 6, 1)]
    path = tmp_path / "starts.npz"
    start_points.write(path, make_starts(games=games, points=points))
    np.testing.assert_array_equal(start_points.read(path).games[0].actions, actions)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"starts.npz cannot be read \(No such file"):
        start_points.read(tmp_path / "starts.npz")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "starts.npz"
    start_points.write(path, make_starts())
    content = bytearray(path.read_bytes())
    place = content.index(bytes(start_points.read(path).games[0].actions))
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged or no file of arrays"):
        start_points.read(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"header": None}, "KeyError: 'header'"),
        ({"header": np.asarray('{"format": "x"}')}, "its format is 'x'"),
        ({"header": np.asarray("[]")}, "TypeError"),
        ({"header": np.asarray("{")}, "JSONDecodeError"),
        ({"actions": np.zeros(26, np.uint8)}, "other lengths than its actions"),
        ({"game_steps": np.array([9, 0, 18])}, "other lengths than its actions"),
        ({"game_seeds": np.array([1, 2])}, "ValueError"),
        ({"point_games": np.array([0, 0, 0, 0, 3])}, "IndexError"),
        ({"point_games": np.array([0, 0, 0, 0, -1])}, "is in none of its games"),
        ({"point_steps": np.array([0, 0, 0, 0, 10])}, "is in none of its games"),
        ({"point_frames": np.array([0, 0, 0, 0, -4])}, "before the beginning"),
        ({"point_frames": np.array([0, 0, 0, 0])}, "ValueError"),
        (
            {
                name: np.array([], np.int64)
                for name in (
                    "point_games",
                    "point_steps",
                    "point_frames",
                    "point_checksums",
                )
            },
            "it has no points",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, changes, reason):
    path = tmp_path / "starts.npz"
    start_points.write(path, make_starts())
    rewrite(path, **changes)
    with pytest.raises(ValueError, match="is no file of start points") as refusal:
        start_points.read(path)
    assert reason in str(refusal.value)


def test_a_file_without_a_sensible_frame_skip_is_refused(tmp_path):
    path = tmp_path / "starts.npz"
    start_points.write(path, make_starts(frames_per_step=0))
    with pytest.raises(ValueError, match="its frames_per_step is 0"):
        start_points.read(path)


# ------------------------------------------------------------------ other environments


def test_points_of_the_same_environment_are_taken():
    start_points.check_environment(make_starts(), "catch", {"rows": 10}, "f.npz")


def test_points_of_another_environment_are_refused():
    with pytest.raises(ValueError, match=r"f.npz has start points in catch, and the r"):
        start_points.check_environment(make_starts(), "atari:pong", {}, "f.npz")


@pytest.mark.parametrize(
    ("settings", "difference"),
    [({"rows": 9}, "rows 10 instead of 9"), ({}, "rows 10 instead of None")],
)
def test_points_recorded_with_other_settings_are_refused(settings, difference):
    with pytest.raises(ValueError, match=difference):
        start_points.check_environment(make_starts(), "catch", settings, "f.npz")
