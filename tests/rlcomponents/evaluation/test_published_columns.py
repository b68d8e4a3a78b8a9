"""Tests of which published columns belong beside which runs."""

from rlcomponents.evaluation import published_columns


def test_runs_on_atari_have_the_columns_of_their_protocol(make_run):
    runs = [make_run("atari:pong", 0), make_run("atari:breakout", 0)]
    assert published_columns.find(runs) == [
        ("dqn", "", {"atari:breakout": 401.2, "atari:pong": 18.9}),
        ("gorila", "", {"atari:breakout": 402.2, "atari:pong": 18.3}),
    ]


def test_runs_that_are_evaluated_otherwise_have_none(make_run):
    runs = [make_run("atari:pong", 0, max_evaluation_frames=108_000)]
    assert published_columns.find(runs) == []
    assert published_columns.find([make_run("catch", 0)]) == []


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
