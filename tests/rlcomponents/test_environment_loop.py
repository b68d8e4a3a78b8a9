"""Tests of rlcomponents.environment_loop."""

import json
import math

import numpy as np
import pytest
from acme import core as acme_core

from rlcomponents import environment_loop, finite, states
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


# ------------------------------------------------------------------ what is not finite

NAN_REWARD = {"reward": float("nan")}
NAN_OBSERVATION = {"observation": np.array([0, np.nan, 0], np.float32)}


@pytest.mark.parametrize(
    "fault", [NAN_REWARD, NAN_OBSERVATION, {"discount": float("inf")}]
)
@pytest.mark.parametrize("num_steps", [1, 3])
def test_a_broken_episode_keeps_what_was_complete_and_the_next_is_whole(
    num_steps, fault, capsys
):
    adder = fake_replay.RecordingAdder(discount=0.5, num_steps=num_steps)
    game = fakes.FaultyGame([[1, 2, 3, 4, 5]], {(0, 0, 5): fault})
    ends = run(game, 10, adder)
    # Whole items only: none holds the fifth step, or leads from one game to the next.
    whole = [
        (step, tuple(item.observation), tuple(item.next_observation))
        for step, item in enumerate(adder.transitions)
    ]
    first, second = 5 - num_steps, 5
    assert len(whole) == first + second
    for step, observation, next_observation in whole[:first]:
        assert (observation, next_observation) == (
            (0, 0, step),
            (0, 0, step + num_steps),
        )
    for step, observation, next_observation in whole[first:]:
        start = step - first
        end = min(start + num_steps, 5)
        assert (observation, next_observation) == ((1, 0, start), (1, 0, end))
    assert all(np.isfinite(item.reward) for item in adder.transitions)
    assert ends == [None] * 9 + [environment_loop.EpisodeEnd(15.0, 5)]
    assert "episode 1, step 5: " in capsys.readouterr().out


def test_the_actor_sees_nothing_of_a_step_that_is_not_finite():
    actor = NotingActor()
    game = fakes.FaultyGame([[0, 0, 0]], {(0, 0, 2): NAN_REWARD})
    loop = environment_loop.EnvironmentLoop(game, actor)
    for _ in range(3):
        loop.step()
    assert actor.calls == [
        ("observe_first", 0, 0, 0),
        ("select_action", 0, 0, 0),
        ("observe", 1, 0, 0, 1),
        ("update",),
        ("select_action", 0, 0, 1),
        ("observe_first", 1, 0, 0),
        ("select_action", 1, 0, 0),
        ("observe", 1, 1, 0, 1),
        ("update",),
    ]


def test_nothing_is_acted_on_before_a_first_observation_is_finite():
    actor = NotingActor()
    watch = finite.Watch()
    faults = {(game, 0, 0): NAN_OBSERVATION for game in range(3)}
    game = fakes.FaultyGame([[0, 0]], faults)
    environment_loop.EnvironmentLoop(game, actor, watch=watch).step()
    assert actor.calls[0] == ("observe_first", 3, 0, 0)
    assert watch.count == 3


@pytest.mark.parametrize("step", [1, 2])
def test_a_game_of_which_a_part_was_not_finite_has_no_score(step):
    # Lives of 2 steps. Of step 2 in the second life, the game goes on with the third.
    faults = {(0, 1, step): NAN_REWARD}
    ends = run(fakes.FaultyGame([[1, 2], [3, 4], [5, 6]], faults), 12)
    scores = [end.episode_return for end in ends if end is not None]
    assert scores == [21.0]  # Of the second game.


def test_episodes_in_a_row_that_are_not_finite_end_the_loop():
    faults = {(game, 0, 2): NAN_REWARD for game in (0, 1, 3, 4, 5)}
    loop = environment_loop.EnvironmentLoop(
        fakes.FaultyGame([[1, 2]], faults),
        NotingActor(),
        watch=finite.Watch(max_in_a_row=3),
    )
    for _ in range(11):  # The third game is whole.
        loop.step()
    with pytest.raises(finite.NonFiniteError) as caught:
        loop.step()
    assert str(caught.value) == (
        "episode 6, step 2: reward is nan, the last of 3 in a row that were "
        "not finite (max_nonfinite_in_a_row): mend the environment."
    )


def test_an_environment_that_never_begins_finitely_ends_the_loop():
    faults = {(game, 0, 0): NAN_OBSERVATION for game in range(20)}
    loop = environment_loop.EnvironmentLoop(
        fakes.FaultyGame([[1]], faults), NotingActor()
    )
    with pytest.raises(finite.NonFiniteError, match=r"episode 10, step 0: observation"):
        loop.step()


# ------------------------------------------------------------------------- going on


class NestedCatch(catch.Catch):
    """Shows its board in a dict."""

    def reset(self):
        return self._nested(super().reset())

    def step(self, action):
        if self._reset_next_step:
            return self.reset()
        return self._nested(super().step(action))

    def observation_spec(self):
        return {"board": super().observation_spec()}

    def _nested(self, timestep):
        return timestep._replace(observation={"board": timestep.observation})


class BoardActor(NotingActor):
    """Notes boards; moves at random."""

    def __init__(self, seed):
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def select_action(self, observation):
        self.calls.append(("select_action", observation["board"].tolist()))
        return np.int32(self._rng.integers(3))

    def observe_first(self, timestep):
        self.calls.append(("observe_first", timestep.observation["board"].tolist()))

    def observe(self, action, next_timestep):
        self.calls.append(("observe", *map(repr, next_timestep)))


@pytest.mark.parametrize("num_steps_before", [0, 1, 5, 9, 13, 18])
def test_a_loop_goes_on_from_a_saved_one_as_if_it_had_not_stopped(num_steps_before):
    def make(seed):
        return environment_loop.EnvironmentLoop(
            NestedCatch(catch.CatchSettings(), seed), BoardActor(7)
        )

    unbroken, restored = make(1), make(2)
    for _ in range(num_steps_before):
        unbroken.step()
    text = json.dumps(states.to_json(unbroken.save()), allow_nan=False)
    restored.restore(states.from_json(json.loads(text)))
    restored._actor._rng = np.random.default_rng(8)
    unbroken._actor._rng = np.random.default_rng(8)
    unbroken._actor.calls.clear()
    ends = [[loop.step() for _ in range(30)] for loop in (unbroken, restored)]
    assert ends[0] == ends[1]
    assert unbroken._actor.calls == restored._actor.calls
    assert any(ends[0])


def test_where_the_environment_cannot_save_itself_a_new_game_begins():
    actor = NotingActor()
    loop = environment_loop.EnvironmentLoop(fakes.ScriptedGame([[0, 1, 2]]), actor)
    loop.step()
    loop.step()
    restored = environment_loop.EnvironmentLoop(
        fakes.ScriptedGame([[0, 1, 2]]), NotingActor()
    )
    restored.restore(loop.save())
    ends = [restored.step() for _ in range(3)]
    assert restored._actor.calls[0][0] == "observe_first"
    assert ends[-1] == environment_loop.EpisodeEnd(3.0, 3)


def test_a_game_that_has_lost_its_score_has_none_after_going_on_either():
    loop = environment_loop.EnvironmentLoop(
        NestedCatch(catch.CatchSettings(), 1), BoardActor(7)
    )
    loop.step()
    loop._game._return = math.nan  # As after a step that was not finite.
    state = loop.save()
    assert state["return"] is None
    loop._game._return = 0.0
    loop.restore(state)
    assert [loop.step() for _ in range(8)] == [None] * 8
