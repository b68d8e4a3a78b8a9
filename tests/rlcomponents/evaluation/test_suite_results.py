"""Tests of what the runs of a suite come to."""

import importlib.util
import math
import warnings

import numpy as np
import pytest

from rlcomponents.evaluation import suite_results


def row(*percent, num_seeds=None, environment="minatar:breakout"):
    num_seeds = num_seeds or len(percent)
    return suite_results.Row(environment, num_seeds, len(percent), percent=percent)


def test_a_game_is_the_mean_of_its_seeds_with_their_standard_error(make_run):
    runs = [
        make_run("minatar:breakout", 0, 1.0, 9.0, 4.0),
        make_run("minatar:breakout", 1, 5.0, 8.0),
    ]
    [found] = suite_results.rows(runs)
    # 4 and 8: sample deviation sqrt(8), over sqrt(2). 9 and 8: sqrt(0.5) over sqrt(2).
    assert found == suite_results.Row(
        "minatar:breakout",
        num_seeds=2,
        num_complete=2,
        final=(6.0, pytest.approx(2.0)),
        best=(8.5, pytest.approx(0.5)),
        episodes=10.5,
        agent_steps=1000.5,
        wall_secs=100.5,
        percent=[40.0, 80.0],  # The published DQN has 10.
    )


def test_the_days_of_runs_are_those_of_their_last_evaluations(tmp_path):
    noon = 1_790_000_000.0  # On 21 September 2026, in nearly all time zones.
    day_secs = 86_400.0
    for name, ends in {"a": (0.0, 2.0), "b": (1.0,), "c": ()}.items():
        (tmp_path / name).mkdir()
        rows = "".join(f"{noon + day_secs * end},1\n" for end in ends)
        (tmp_path / name / "evaluation.csv").write_text(f"time_secs,final\n{rows}")
    paths = {name: tmp_path / name for name in "abc"}
    assert suite_results.dates(paths.values()) == "2026-09-22 to 2026-09-23"
    assert suite_results.dates([paths["b"]]) == "2026-09-22"
    assert suite_results.dates([paths["c"]]) == ""


def test_runs_that_are_not_complete_are_in_no_number(make_run):
    runs = [
        make_run("catch", 0, 0.5),
        make_run("catch", 1, 9.0, reason="interrupted"),
        make_run("catch", 2),
    ]
    [found] = suite_results.rows(runs)
    assert (found.num_seeds, found.num_complete) == (3, 1)
    assert found.final == (0.5, None)
    assert found.percent == []


def test_a_game_without_a_complete_run_has_no_numbers(make_run):
    runs = [make_run("catch", 0), make_run("minatar:breakout", 0, 1.0)]
    assert [each.final for each in suite_results.rows(runs)] == [None, (1.0, None)]


@pytest.mark.parametrize(
    ("reason", "complete"),
    [
        ("max_steps", True),
        ("running", False),  # Killed, or a machine without power.
        ("interrupted", False),
        ("stopped", False),
        ("node died: bundle/0", False),
    ],
)
def test_a_run_is_complete_when_it_took_all_its_steps(make_run, reason, complete):
    run = make_run("catch", 0, 1.0, reason=reason)
    assert suite_results.is_complete(run.path) == complete


def test_a_run_that_has_not_begun_is_not_complete(make_run):
    assert not suite_results.is_complete(make_run("catch", 0).path)


def test_a_complete_run_without_evaluations_is_named(make_run):
    run = make_run("catch", 0, 1.0)
    (run.path / "evaluation.csv").unlink()
    with pytest.raises(ValueError, match=r"catch-0 is a complete run without an eval"):
        suite_results.rows([run])


def test_scores_are_normalised_by_the_table_of_their_protocol(make_run):
    # Breakout: random 1.7 in both; a human has 31.8 in one, 30.5 in the other.
    published = make_run("atari:breakout", 0).config
    assert suite_results.normalised(published, 31.8) == pytest.approx(100.0)
    longer = make_run("atari:breakout", 0, max_evaluation_frames=108_000).config
    assert suite_results.normalised(longer, 30.5) == pytest.approx(100.0)
    assert suite_results.normalised(make_run("catch", 0).config, 1.0) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"final_evaluation_episodes": 10},
        {"max_evaluation_frames": 108_000},
        {"sticky_action_probability": 0.25},
        {"evaluation_epsilon": 0.0},
    ],
)
def test_another_evaluation_is_not_the_published_protocol(make_run, settings):
    assert suite_results.has_published_protocol(make_run("atari:pong", 0).config)
    config = make_run("atari:pong", 0, **settings).config
    assert not suite_results.has_published_protocol(config)


def test_sums_are_over_games_with_all_their_seeds():
    table = [
        row(10.0, 30.0, environment="a"),  # Mean 20.
        row(40.0, 60.0, environment="b"),  # Mean 50.
        row(70.0, 90.0, environment="c"),  # Mean 80.
        row(500.0, num_seeds=2, environment="d"),
        row(num_seeds=2, environment="e"),
    ]
    found = suite_results.aggregate(table)
    assert found.games == ["a", "b", "c"]
    assert (found.mean, found.median) == (pytest.approx(50.0), pytest.approx(50.0))


def test_the_interquartile_mean_leaves_out_the_lowest_and_the_highest_quarter():
    found = suite_results.aggregate([row(0.0, 10.0), row(20.0, 1000.0)])
    assert found.iqm == pytest.approx(15.0)  # Of 10 and 20.
    low, high = found.interval
    assert low <= found.iqm <= high


def test_the_interval_is_a_bootstrap_over_the_seeds_of_each_game():
    rng = np.random.default_rng(0)
    scores = rng.normal([[50.0], [80.0]], 10.0, size=(2, 5))  # [num_games, num_seeds]

    def iqm(values):
        values = np.sort(values, axis=None)
        quarter = math.floor(len(values) / 4)
        return values[quarter : len(values) - quarter].mean()

    resampled = [
        iqm(np.stack([rng.choice(game, size=5) for game in scores]))
        for _ in range(2_000)
    ]
    found = suite_results.aggregate([row(*game) for game in scores])
    assert found.iqm == pytest.approx(iqm(scores))
    expected = np.percentile(resampled, [2.5, 97.5])
    np.testing.assert_allclose(found.interval, expected, atol=1.0)


def test_the_interval_is_the_same_each_time_and_no_other_draws_change():
    table = [row(10.0, 30.0, 20.0), row(20.0, 10.0, 40.0)]
    np.random.seed(7)
    first = suite_results.aggregate(table)
    drawn = np.random.random()
    np.random.seed(7)
    assert drawn == np.random.random()
    assert suite_results.aggregate(table) == first


def test_one_seed_has_sums_but_no_interval_and_one_game_no_sums():
    found = suite_results.aggregate([row(1.0), row(3.0)])
    assert (found.mean, found.iqm, found.interval) == (2.0, None, None)
    assert suite_results.aggregate([row(1.0, 2.0)]) is None


def test_no_warning_about_its_own_developers_comes_from_rliable():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suite_results.aggregate([row(0.0, 10.0), row(20.0, 30.0)])


def test_a_missing_package_is_said_before_anything_is_run(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    suite_results.check_packages(1, 3)  # Nothing to sum up.
    with pytest.raises(ImportError, match=r"pip install -e '\.\[results\]'"):
        suite_results.check_packages(2, 2)
