"""Tests of rlcomponents.environment_batch."""

import numpy as np
import pytest

from rlcomponents import environment_batch, environment_loop, finite
from rlcomponents.testing import fakes

NAN_REWARD = {"reward": float("nan")}
NAN_OBSERVATION = {"observation": np.array([0, np.nan, 0], np.float32)}


def make(*environments, watch=None):
    return environment_batch.EnvironmentBatch(environments, watch=watch)


def act(batch, action=0):
    """Takes a step, after the resets that are due."""
    batch.observe()
    return batch.step(np.full(len(batch), action, np.int32))


def test_no_environments_are_refused():
    with pytest.raises(ValueError, match="no environments to step: give at least one"):
        make()


class Nested(fakes.ScriptedGame):
    def observation_spec(self):
        return {"position": super().observation_spec()}


def test_nested_observations_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="The observations are a dict: these"):
        make(Nested([[1.0]]))


class OneArray(fakes.ScriptedGame):
    """Writes every observation into one array."""

    _array = np.zeros(3, np.float32)

    def _observation(self):
        self._array[:] = super()._observation()
        return self._array


def test_what_was_observed_stays_where_the_environment_overwrites_it():
    batch = make(OneArray([[0.0] * 3]))
    before, first = batch.observe()[0], act(batch).observation
    act(batch)
    assert (before.tolist(), first.tolist()) == ([[0, 0, 0]], [[0, 0, 1]])


def test_looking_twice_resets_once():
    batch = make(fakes.ScriptedGame([[1.0]]))
    for _ in range(2):
        observations, is_first = batch.observe()
        assert observations.tolist() == [[0, 0, 0]]
        assert is_first.tolist() == [True]


def test_each_environment_gets_its_own_action():
    games = [fakes.ScriptedGame([[0.0, 0.0]], num_actions=4) for _ in range(3)]
    batch = make(*games)
    batch.observe()
    batch.step(np.array([3, 0, 2], np.int32))
    assert [game.actions for game in games] == [[3], [0], [2]]


def test_a_step_is_an_array_of_each_of_its_parts():
    batch = make(
        fakes.ScriptedGame([[1.5, 0.0]]),
        fakes.ScriptedGame([[-2.0]]),
        fakes.ScriptedGame([[3.0]], truncated=True),
    )
    step = act(batch)
    assert step.reward.dtype == step.discount.dtype == np.float32
    assert step.reward.tolist() == [1.5, -2.0, 3.0]
    assert step.discount.tolist() == [1.0, 0.0, 1.0]  # A cut is no termination.
    assert step.last.tolist() == [False, True, True]
    assert step.observation.tolist() == [[0, 0, 1]] * 3


def test_an_episodes_last_observation_is_seen_before_the_reset():
    batch = make(fakes.ScriptedGame([[0.0, 0.0]]))
    act(batch)
    assert act(batch).observation.tolist() == [[0, 0, 2]]
    observations, is_first = batch.observe()
    assert observations.tolist() == [[1, 0, 0]]
    assert is_first.tolist() == [True]


def test_environments_begin_anew_each_at_its_own_time():
    batch = make(fakes.ScriptedGame([[0.0]]), fakes.ScriptedGame([[0.0, 0.0]]))
    act(batch)
    observations, is_first = batch.observe()
    assert observations.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert is_first.tolist() == [True, False]


def test_scores_are_of_whole_games_however_many_lives_they_have():
    batch = make(fakes.ScriptedGame([[1.0, 2.0], [4.0]]))
    ends = [act(batch) for _ in range(4)]
    assert [step.last.item() for step in ends] == [False, True, True, False]
    game = environment_loop.EpisodeEnd(episode_return=7.0, length_steps=3)
    assert [step.episodes for step in ends] == [(), (), (game,), ()]


def test_scores_of_several_environments_are_kept_apart():
    batch = make(fakes.ScriptedGame([[1.0, 1.0]]), fakes.ScriptedGame([[5.0, 5.0]]))
    act(batch)
    assert [episode.episode_return for episode in act(batch).episodes] == [2.0, 10.0]


def test_what_the_specs_do_not_say_is_refused():
    batch = make(fakes.FaultyGame([[1.0]], {(0, 0, 1): {"reward": "a lot"}}))
    with pytest.raises(ValueError, match="The reward is 'a lot' at step 1"):
        act(batch)


def test_a_step_that_is_not_finite_breaks_the_step_of_all(capsys):
    watch = finite.Watch()
    whole = fakes.ScriptedGame([[2.0, 3.0, 4.0]])
    broken = fakes.FaultyGame([[1.0] * 4], {(0, 0, 2): NAN_REWARD})
    batch = make(whole, broken, watch=watch)
    assert isinstance(act(batch), environment_batch.BatchStep)
    assert act(batch) == environment_batch.BrokenStep(())
    # The one to blame begins anew; the other goes on, and its score is whole.
    observations, is_first = batch.observe()
    assert observations.tolist() == [[0, 0, 2], [1, 0, 0]]
    assert is_first.tolist() == [False, True]
    [episode] = act(batch).episodes
    assert episode.episode_return == 9.0
    assert watch.count == 1
    sentence = "environment 1, episode 1, step 2: reward is nan;"
    assert capsys.readouterr().out.startswith(sentence)


def test_games_that_end_beside_a_broken_step_are_told():
    whole = fakes.ScriptedGame([[2.0]])
    broken = fakes.FaultyGame([[1.0]], {(0, 0, 1): NAN_OBSERVATION})
    step = act(make(whole, broken))
    assert step == environment_batch.BrokenStep(
        (environment_loop.EpisodeEnd(episode_return=2.0, length_steps=1),)
    )


def test_first_observations_to_act_on_are_finite():
    faults = {(game, 0, 0): NAN_OBSERVATION for game in range(2)}
    observations, is_first = make(fakes.FaultyGame([[1.0]], faults)).observe()
    assert observations.tolist() == [[2, 0, 0]]
    assert is_first.tolist() == [True]


def test_one_environment_of_many_that_is_never_finite_ends_the_program():
    faults = {(game, 0, 1): NAN_REWARD for game in range(9)}
    whole = fakes.ScriptedGame([[1.0]])
    watch = finite.Watch(max_in_a_row=4)
    batch = make(whole, fakes.FaultyGame([[1.0]], faults), watch=watch)
    for _ in range(3):
        act(batch)
    with pytest.raises(finite.NonFiniteError, match=r"^environment 1, episode"):
        act(batch)
