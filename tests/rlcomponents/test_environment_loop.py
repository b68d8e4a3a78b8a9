"""Tests of rlcomponents.environment_loop."""

import numpy as np
import pytest
from acme import core as acme_core

from rlcomponents import environment_loop
from rlcomponents.environments import catch
from rlcomponents.testing import fake_replay, fakes


class NotingActor(acme_core.Actor):
    """Takes action 1, keeps experience as learners see it, and notes each call."""

    def __init__(self, adder=None):
        self.calls = []
        self._adder = adder

    def select_action(self, observation):
        self.calls.append(("select_action", *observation))
        return np.int32(1)

    def observe_first(self, timestep):
        self.calls.append(("observe_first", *timestep.observation))
        if self._adder is not None:
            self._adder.add_first(timestep)

    def observe(self, action, next_timestep):
        self.calls.append(("observe", action, *next_timestep.observation))
        if self._adder is not None:
            self._adder.add(action, next_timestep)

    def update(self, wait=False):
        self.calls.append(("update",))


def make_adder():
    return fake_replay.RecordingAdder(discount=0.9, max_abs_reward=1.0)


def run(game, num_steps, adder=None):
    """Returns the end of a game, or None, for each step."""
    loop = environment_loop.EnvironmentLoop(game, NotingActor(adder))
    return [loop.step() for _ in range(num_steps)]


def test_the_actor_sees_every_step_and_is_updated_after_it():
    actor = NotingActor()
    loop = environment_loop.EnvironmentLoop(fakes.ScriptedGame([[0, 0]]), actor)
    for _ in range(3):
        loop.step()
    assert actor.calls == [
        ("observe_first", 0, 0, 0),
        ("select_action", 0, 0, 0),
        ("observe", 1, 0, 0, 1),
        ("update",),
        ("select_action", 0, 0, 1),
        ("observe", 1, 0, 0, 2),
        ("update",),
        ("observe_first", 1, 0, 0),
        ("select_action", 1, 0, 0),
        ("observe", 1, 1, 0, 1),
        ("update",),
    ]


def test_nothing_is_played_before_the_first_step():
    actor = NotingActor()
    environment_loop.EnvironmentLoop(fakes.ScriptedGame([[0]]), actor)
    assert actor.calls == []


def test_scores_are_raw_where_learners_see_clipped_rewards():
    adder = make_adder()
    ends = run(fakes.ScriptedGame([[5, -3, 0.5]]), 3, adder)
    assert ends == [None, None, environment_loop.EpisodeEnd(2.5, 3)]
    assert [item.reward for item in adder.transitions] == [1, -1, 0.5]


def test_scores_are_of_whole_games_where_learners_see_lives():
    adder = make_adder()
    ends = run(fakes.ScriptedGame([[1, 2], [3], [4, 5]]), 5, adder)
    assert ends == [None] * 4 + [environment_loop.EpisodeEnd(15.0, 5)]
    ends_of_lives = [item.discount == 0 for item in adder.transitions]
    assert ends_of_lives == [False, True, True, False, True]


def test_a_lost_life_does_not_restart_the_game():
    adder = make_adder()
    run(fakes.ScriptedGame([[1], [2]]), 3, adder)
    places = [tuple(item.observation) for item in adder.transitions]
    assert places == [(0, 0, 0), (0, 1, 0), (1, 0, 0)]


def test_the_next_game_is_counted_from_zero():
    ends = run(fakes.ScriptedGame([[1], [2, 3]]), 6)
    assert ends[2] == ends[5] == environment_loop.EpisodeEnd(6.0, 3)


def test_every_end_counts_where_the_environment_has_no_word_on_games():
    ends = run(catch.Catch(catch.CatchSettings(rows=4), seed=1), 9)
    lengths = [end and end.length_steps for end in ends]
    assert lengths == [None, None, 3] * 3


def test_running_steps_until_something_raises():
    class ThreeStepsOnly(NotingActor):
        def update(self, wait=False):
            super().update(wait)
            if self.calls.count(("update",)) == 3:
                raise KeyboardInterrupt

    game = fakes.ScriptedGame([[0]])
    loop = environment_loop.EnvironmentLoop(game, ThreeStepsOnly())
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    assert game.actions == [1, 1, 1]
