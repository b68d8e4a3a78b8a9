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


@pytest.mark.parametrize(
    ("starts", "name", "score", "percent"),
    [
        # Breakout: random 1.7, human 31.8 under null-ops; 1.6 and 27.9 from points.
        pytest.param("noop_starts", "atari:breakout", 31.8, 100.0, id="null-ops"),
        pytest.param("human_starts", "atari:breakout", 27.9, 100.0, id="points"),
        pytest.param("human_starts", "atari:breakout", 1.6, 0.0, id="random"),
        # Random play beats the human from points: it counts as 0 there, only there.
        pytest.param("human_starts", "atari:video_pinball", 0.0, 0.0, id="pinball"),
        pytest.param("noop_starts", "atari:video_pinball", 16256.9, 0.0, id="as-is"),
    ],
)
def test_a_protocol_has_a_table_of_its_own(starts, name, score, percent):
    found = normalisation.human_normalised(name, score, starts=starts)
    assert found == pytest.approx(percent)


@pytest.mark.parametrize("name", ["atari:surround", "atari:nothing", "catch"])
def test_a_game_that_a_protocols_table_lacks_has_no_normalised_score(name):
    # Surround is one of 57 games, but not of the 49 with null-op starts.
    assert normalisation.human_normalised(name, 1.0, starts="noop_starts") is None
