"""Tests of the published score tables: printed sums come out of the data."""

import pytest

from rlcomponents.evaluation import score_tables


def _aggregate(
    starts: str, agent: str, video_pinball: str, *, num_games: int
) -> score_tables.Aggregate:
    table = score_tables.published(starts)
    scores = table.agents[agent]
    assert len(scores) == num_games
    return score_tables.aggregate(
        score_tables.normalised(table, scores, video_pinball=video_pinball)
    )


@pytest.mark.parametrize(
    ("agent", "mean", "median"),
    [("dqn", 241.1, 93.5), ("gorila", 495.2, 96.4)],
)
def test_null_op_rows_as_printed_by_van_hasselt(agent, mean, median):
    # Printed as 495% and 96% for Gorila.
    result = _aggregate("noop_starts", agent, "signed", num_games=49)

    assert result == pytest.approx((mean, median), abs=0.05)


@pytest.mark.parametrize(
    ("agent", "mean", "median"),
    [("dqn", 121.9, 47.5), ("gorila", 215.2, 71.3)],
)
def test_human_start_rows_of_dqn_and_gorila_as_printed_with_a3c(agent, mean, median):
    result = _aggregate("human_starts", agent, "signed", num_games=49)

    # The paper's rows come from scores with more digits than it prints.
    assert result == pytest.approx((mean, median), abs=0.4)


@pytest.mark.parametrize(
    ("agent", "mean", "median"),
    [
        ("double", 332.9, 110.9),
        ("dueling", 343.8, 117.1),
        ("prioritized", 463.6, 127.6),
        ("a3c_ff_1day", 344.1, 68.2),
        ("a3c_ff", 496.8, 116.6),
        ("a3c_lstm", 623.0, 112.6),
    ],
)
def test_human_start_rows_of_57_games_as_printed_with_a3c(agent, mean, median):
    result = _aggregate("human_starts", agent, "random_is_zero", num_games=57)

    assert result == pytest.approx((mean, median), abs=0.25)


def test_mean_of_gorila_as_printed_by_van_hasselt():
    result = _aggregate("human_starts", "gorila", "left_out", num_games=49)

    assert result.mean == pytest.approx(259, abs=0.5)


def test_median_of_gorila_as_printed_by_van_hasselt():
    result = _aggregate("human_starts", "gorila", "absolute", num_games=49)

    assert result.median == pytest.approx(78, abs=0.5)


def test_normalised_by_hand():
    table = score_tables.ScoreTable("noop_starts", {"pong": -20.0}, {"pong": 20.0}, {})

    percent = score_tables.normalised(table, {"pong": 10.0}, video_pinball="signed")

    assert percent == {"pong": 75.0}


def test_video_pinball_by_hand():
    table = score_tables.ScoreTable(
        "human_starts", {"video_pinball": 300.0}, {"video_pinball": 200.0}, {}
    )

    percent = {
        rule: score_tables.normalised(
            table, {"video_pinball": 400.0}, video_pinball=rule
        )
        for rule in score_tables.VIDEO_PINBALL_RULES
    }

    assert percent == {
        "signed": {"video_pinball": -100.0},
        "random_is_zero": {"video_pinball": 200.0},
        "left_out": {},
        "absolute": {"video_pinball": 100.0},
    }


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"scores": {"tetris": 1.0}, "video_pinball": "signed"}, "has no tetris"),
        ({"scores": {}, "video_pinball": "ignored"}, "video_pinball is 'ignored'"),
    ],
)
def test_what_cannot_be_normalised_is_refused(kwargs, message):
    table = score_tables.published("human_starts")

    with pytest.raises(ValueError, match=message):
        score_tables.normalised(table, **kwargs)


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="must be one of human_starts, noop_starts"):
        score_tables.published("cold_starts")
