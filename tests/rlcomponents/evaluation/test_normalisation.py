"""Tests of human-normalised scores."""

import pytest

from rlcomponents.evaluation import normalisation


@pytest.mark.parametrize(
    ("name", "score", "percent"),
    [
        pytest.param("atari:pong", -20.7, 0.0, id="random"),
        pytest.param("atari:pong", 14.6, 100.0, id="human"),
        # 100 * (30 - 1.7) / (30.5 - 1.7)
        pytest.param("atari:breakout", 30.0, 98.2638888, id="between"),
        pytest.param("atari:pong:full_actions", 14.6, 100.0, id="variant"),
        # The human is worse than random under human starts, but not here.
        pytest.param("atari:video_pinball", 17667.9, 100.0, id="video-pinball"),
        pytest.param("atari:zaxxon", 9173.3, 100.0, id="last-of-the-file"),
    ],
)
def test_score_is_in_percent_of_the_way_from_random_to_human(name, score, percent):
    assert normalisation.human_normalised(name, score) == pytest.approx(percent)


@pytest.mark.parametrize("name", ["atari:no_such_game", "minatar:breakout", "catch"])
def test_a_game_without_human_score_has_no_normalised_score(name):
    assert normalisation.human_normalised(name, 1.0) is None


def test_all_57_games_are_known():
    assert len(normalisation._atari_scores()) == 57
