"""Tests of which published columns belong beside which runs."""

import pytest

from rlcomponents.evaluation import published_columns, suite_results

A3C_ON_PONG = [
    ("a3c_ff_1day", "", "human_starts", {"atari:pong": 11.4}),
    ("a3c_ff", "", "human_starts", {"atari:pong": 5.6}),
    ("a3c_lstm", "", "human_starts", {"atari:pong": 10.7}),
]


def test_runs_on_atari_have_the_columns_of_their_protocol_and_those_of_a3c(make_run):
    runs = [make_run("atari:pong", 0), make_run("atari:breakout", 0)]
    assert columns(runs)[:2] == [
        ("dqn", "", "noop_starts", {"atari:breakout": 401.2, "atari:pong": 18.9}),
        ("gorila", "", "noop_starts", {"atari:breakout": 402.2, "atari:pong": 18.3}),
    ]
    assert columns(runs[:1])[2:] == A3C_ON_PONG


def test_runs_that_are_evaluated_otherwise_have_those_of_a3c_only(make_run):
    runs = [make_run("atari:pong", 0, max_evaluation_frames=108_000)]
    assert columns(runs) == A3C_ON_PONG
    runs = [make_run("atari:pong", 0, sticky_action_probability=0.25)]
    assert columns(runs) == []  # Another game than the papers'.
    assert columns([make_run("catch", 0)]) == []


def test_scores_under_human_starts_are_in_no_sum_of_runs_under_null_ops(make_run):
    runs = [make_run("atari:pong", 0, 9.3), make_run("atari:breakout", 0, 401.2)]
    total = suite_results.aggregate(suite_results.rows(runs))
    (mean, median) = published_columns.sums(total, columns(runs), runs)
    # Pong: (9.3 + 20.7) / 30 = 100 %; by the table (18.9 + 20.7) / 30 = 132 %.
    # Breakout: (401.2 - 1.7) / 30.1 = 1327.24 %.
    assert mean.percent == pytest.approx((100 + 1327.24) / 2, abs=0.01)
    assert mean.published[0] == pytest.approx((132 + 1327.24) / 2, abs=0.01)
    assert mean.published[2:] == median.published[2:] == [None, None, None]


def test_minatar_has_the_ends_of_the_curves_and_the_points_as_long_as_the_runs(
    make_run,
):
    runs = [make_run("minatar:freeway", 0, max_steps=1_000_001)]
    found = {(each.agent, each.point): each.scores for each in columns(runs)}
    assert found["DQN", "2M"] == {"minatar:freeway": 50.7}
    assert found["DQN", "4.9M"] == {"minatar:freeway": 50.2}
    assert ("DQN", "1M") not in found
    # A long run is beside the end only; what the picture hides is no column.
    runs = [make_run("minatar:freeway", 0, max_steps=10_000_000)]
    assert {each.point for each in columns(runs)} == {"4.9M"}
    runs = [make_run("minatar:freeway", 0, max_steps=300_000)]
    assert ("DQN_no_replay", "1M") not in {each[:2] for each in columns(runs)}


def columns(runs):
    return published_columns.find(runs)
