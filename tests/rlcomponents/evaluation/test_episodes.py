"""Tests of playing whole games, on a scripted environment."""

import itertools
import math

import dm_env
import numpy as np
import pytest
from acme import core as acme_core

from rlcomponents import finite
from rlcomponents.evaluation import episodes
from rlcomponents.testing import fakes

FIRST, MID, LAST = dm_env.StepType


class LivesGame(dm_env.Environment):
    """Plays the same game again and again: a list of lives, each a list of rewards.

    As in our Atari: a reset after a lost life goes on with the game, any other reset
    starts a new one. Observations are `[game, life, step]`, each counted from 0.
    """

    def __init__(self, lives):
        self._lives = lives
        self._game, self._life, self._step = -1, 0, 0
        self._life_lost = False
        self.game_over = False

    def reset(self):
        if self._life_lost:
            self._life += 1
        else:
            self._game, self._life = self._game + 1, 0
        self._step, self._life_lost, self.game_over = 0, False, False
        return dm_env.restart(self._observation())

    def step(self, action):
        rewards = self._lives[self._life]
        reward = rewards[self._step]
        self._step += 1
        if self._step < len(rewards):
            return dm_env.transition(reward, self._observation())
        self._life_lost = self._life < len(self._lives) - 1
        self.game_over = not self._life_lost
        return dm_env.termination(reward, self._observation())

    def _observation(self):
        return np.array([self._game, self._life, self._step])

    def observation_spec(self):
        return dm_env.specs.Array((3,), np.int64)

    def action_spec(self):
        return dm_env.specs.DiscreteArray(1)


class GameWithoutLives(LivesGame):
    """Has no word on whether the game is over, as most environments."""

    def __getattribute__(self, name):
        if name == "game_over":
            raise AttributeError(name)
        return super().__getattribute__(name)


class WatchedActor(acme_core.Actor):
    """Takes action 0, and notes what it was shown."""

    def __init__(self):
        self.observed = []

    def select_action(self, observation):
        return 0

    def observe_first(self, timestep):
        self.observed.append((timestep.step_type, *timestep.observation))

    def observe(self, action, next_timestep):
        self.observed.append((next_timestep.step_type, *next_timestep.observation))

    def update(self, wait=False):
        raise AssertionError("An evaluated actor is not updated.")


def test_scores_are_raw():
    results = episodes.play_episodes(LivesGame([[5, -3, 0.5]]), WatchedActor(), 1)
    assert results.returns == (2.5,)


def test_scores_are_of_whole_games_not_of_lives():
    results = episodes.play_episodes(
        LivesGame([[5, -3], [0.5], [1, 1]]), WatchedActor(), 2
    )
    assert results.returns == (4.5, 4.5)
    assert results.lengths_steps == (5, 5)


def test_the_actor_sees_each_life_as_an_episode():
    actor = WatchedActor()
    episodes.play_episodes(LivesGame([[1, 1], [1]]), actor, 1)
    assert actor.observed == [
        (FIRST, 0, 0, 0),
        (MID, 0, 0, 1),
        (LAST, 0, 0, 2),
        (FIRST, 0, 1, 0),
        (LAST, 0, 1, 1),
    ]


def test_an_environment_without_lives_is_over_at_its_last_step():
    results = episodes.play_episodes(GameWithoutLives([[1, 2]]), WatchedActor(), 3)
    assert results.returns == (3.0, 3.0, 3.0)


def test_a_game_is_cut_at_the_limit_and_the_next_is_new():
    actor = WatchedActor()
    results = episodes.play_episodes(
        LivesGame([[1, 2, 4], [8]]), actor, 2, max_episode_steps=2
    )
    assert results.returns == (3.0, 3.0)
    assert results.lengths_steps == (2, 2)
    assert [seen for seen in actor.observed if seen[0] is FIRST] == [
        (FIRST, 0, 0, 0),
        (FIRST, 1, 0, 0),
    ]


def test_a_game_cut_at_the_step_that_loses_a_life_is_not_gone_on_with():
    actor = WatchedActor()
    results = episodes.play_episodes(
        LivesGame([[1, 2], [8]]), actor, 2, max_episode_steps=2
    )
    assert results.returns == (3.0, 3.0)
    assert actor.observed[3] == (FIRST, 1, 0, 0)


def test_a_game_that_ends_at_the_limit_counts_once():
    results = episodes.play_episodes(
        LivesGame([[1], [2]]), WatchedActor(), 2, max_episode_steps=2
    )
    assert results.returns == (3.0, 3.0)


def test_a_stop_drops_the_game_in_play():
    steps = itertools.count()
    results = episodes.play_episodes(
        LivesGame([[1, 1, 1]]), WatchedActor(), 5, should_stop=lambda: next(steps) == 7
    )
    assert results.returns == (3.0, 3.0)  # The third game had one step.


def test_a_stop_before_the_first_game_ends_leaves_nothing():
    results = episodes.play_episodes(
        LivesGame([[1]]), WatchedActor(), 5, should_stop=lambda: True
    )
    assert results.returns == ()
    assert math.isnan(results.mean)


def test_mean_and_standard_error_match_hand_computation():
    results = episodes.EpisodeResults((1.0, 2.0, 6.0), (1, 1, 1))
    assert results.mean == 3.0
    # Squared deviations 4 + 1 + 9 over 3 - 1 is 7; over 3 games.
    assert results.standard_error == pytest.approx(math.sqrt(7 / 3))


def test_one_game_has_no_standard_error():
    results = episodes.EpisodeResults((1.0,), (1,))
    assert results.mean == 1.0
    assert math.isnan(results.standard_error)


@pytest.mark.parametrize(
    ("num_episodes", "max_episode_steps", "message"),
    [(0, None, "num_episodes .* not 0"), (1, 0, "max_episode_steps .* not 0")],
)
def test_zero_is_refused(num_episodes, max_episode_steps, message):
    with pytest.raises(ValueError, match=message):
        episodes.play_episodes(
            LivesGame([[1]]),
            WatchedActor(),
            num_episodes,
            max_episode_steps=max_episode_steps,
        )


# ------------------------------------------------------------------ what is not finite

NAN_REWARD = {"reward": float("nan")}
NAN_OBSERVATION = {"observation": np.array([0, np.nan, 0], np.float32)}


@pytest.mark.parametrize(
    ("place", "fault", "where"),
    [
        ((1, 0, 2), NAN_REWARD, "episode 3, step 2: reward is nan"),
        ((1, 1, 1), NAN_OBSERVATION, "episode 4, step 1: observation is nan in 1"),
        ((1, 1, 0), NAN_OBSERVATION, "episode 4, step 0: observation is nan in 1"),
        ((1, 0, 0), NAN_OBSERVATION, "episode 3, step 0: observation is nan in 1"),
    ],
    ids=["end of a life", "end of a game", "next life", "next game"],
)
def test_a_game_that_is_not_finite_is_not_averaged_in(place, fault, where, capsys):
    actor = WatchedActor()
    game = fakes.FaultyGame([[1, 2], [4]], {place: fault})
    results = episodes.play_episodes(game, actor, 2)
    assert results.returns == (7.0, 7.0)
    assert results.lengths_steps == (3, 3)
    assert np.isfinite([seen[1:] for seen in actor.observed]).all()
    # The game in its place is a new one.
    assert (FIRST, 2, 0, 0) in actor.observed
    assert capsys.readouterr().out.startswith(where)


def test_games_in_a_row_that_are_not_finite_end_the_evaluation():
    faults = {(game, 0, 1): NAN_REWARD for game in range(20)}
    game = fakes.FaultyGame([[1]], faults)
    with pytest.raises(finite.NonFiniteError, match="episode 10, step 1: reward is na"):
        episodes.play_episodes(game, WatchedActor(), 1)
