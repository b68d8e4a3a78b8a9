"""Tests of rlcomponents.learners.rollouts."""

import itertools

import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents import environment_batch
from rlcomponents.environments import time_steps, wrappers
from rlcomponents.learners import rollouts
from rlcomponents.testing import fakes


class CountingPolicy:
    """Counts the steps of each episode, in its state; acts by whether that is odd.

    Attributes:
        num_acts: How often it was asked to act.
        asked: Observations and states whose value was asked for.
    """

    def __init__(self, value=10.0):
        self.num_acts = 0
        self.asked = []
        self._value = value

    def initial_state(self, num_environments):
        return np.zeros(num_environments, int)

    def act(self, observation, is_first, state):
        self.num_acts += 1
        state = np.where(is_first, 0, state) + 1
        return (state % 2).astype(np.int32), state

    def value(self, observation, state):
        self.asked.append((observation.tolist(), state.tolist()))
        return np.full(len(observation), self._value, np.float32)


class Player:
    """A collector, and what it is made of."""

    def __init__(
        self, *games, max_steps, discount=0.5, stop_after=None, **reward_settings
    ):
        self.games = games
        self.policy = CountingPolicy()
        self.collector = rollouts.RolloutCollector(
            environment_batch.EnvironmentBatch(games),
            self.policy,
            max_steps=max_steps,
            discount=discount,
            **{"max_abs_reward": None, **reward_settings},
            should_stop=lambda: len(games[0].actions) == stop_after,
        )

    def collect(self, *, keep_next_action=False):
        return self.collector.collect(keep_next_action=keep_next_action)[0]


def column(array, environment=0):
    return array[:, environment].tolist()


# ----------------------------------------------------------------------------- returns


def test_the_terminal_reward_counts_and_its_step_is_in_the_rollout():
    player = Player(fakes.ScriptedGame([[0.0, 0.0, 1.0]]), max_steps=5, discount=0.9)
    rollout = player.collect()
    np.testing.assert_allclose(
        rollout.n_step_returns(), [[0.81], [0.9], [1.0]], rtol=1e-6
    )
    assert rollout.reward.shape == rollout.action.shape == (3, 1)
    assert column(rollout.observation) == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]
    assert player.policy.asked == []  # Nothing follows a termination.


def test_a_rollout_that_is_full_goes_on_from_the_value_of_what_it_leads_to():
    player = Player(fakes.ScriptedGame([[1.0] * 9]), max_steps=2)
    rollout = player.collect()
    # 1 + (1 + 10 / 2) / 2, and 1 + 10 / 2.
    assert column(rollout.n_step_returns()) == [4.0, 6.0]
    assert player.policy.asked == [([[0, 0, 2]], [2])]
    assert column(rollout.bootstrap) == [0.0, 10.0]


def test_a_cut_episode_goes_on_from_the_value_of_its_own_last_observation():
    player = Player(fakes.ScriptedGame([[1.0] * 2], truncated=True), max_steps=5)
    rollout = player.collect()
    assert column(rollout.n_step_returns()) == [4.0, 6.0]
    assert player.policy.asked == [([[0, 0, 2]], [2])]
    assert column(rollout.last) == [False, True]
    assert column(rollout.discount) == [0.5, 0.5]


def test_without_a_future_nobody_asks_for_its_value():
    player = Player(fakes.ScriptedGame([[1.0] * 9]), max_steps=2, discount=0.0)
    assert column(player.collect().n_step_returns()) == [1.0, 1.0]
    assert player.policy.asked == []


def test_returns_do_not_run_over_the_ends_of_episodes():
    terminating = fakes.ScriptedGame([[1.0, 2.0]])
    cut = fakes.ScriptedGame([[1.0, 2.0]], truncated=True)
    player = Player(terminating, cut, max_steps=3)
    rollout = player.collect()
    # The last step begins another episode, and leads to a value of 10 in both.
    assert column(rollout.n_step_returns(), 0) == [1 + 2 / 2, 2.0, 1 + 10 / 2]
    assert column(rollout.n_step_returns(), 1) == [1 + 7 / 2, 2 + 10 / 2, 1 + 10 / 2]
    assert column(rollout.bootstrap, 0) == [0.0, 0.0, 10.0]
    assert column(rollout.bootstrap, 1) == [0.0, 10.0, 10.0]


# -------------------------------------------------------------------------- its extent


def test_with_one_environment_a_rollout_ends_where_the_episode_does():
    player = Player(fakes.ScriptedGame([[0.0] * 3]), max_steps=2)
    lengths = [len(player.collect().reward) for _ in range(4)]
    assert lengths == [2, 1, 2, 1]


def test_with_several_a_rollout_goes_on_with_the_next_episode():
    player = Player(
        fakes.ScriptedGame([[0.0]]), fakes.ScriptedGame([[0.0] * 3]), max_steps=4
    )
    rollout = player.collect()
    assert column(rollout.last, 0) == [True] * 4
    assert column(rollout.last, 1) == [False, False, True, False]
    assert column(rollout.is_first, 1) == [True, False, False, True]
    assert column(rollout.next_observation, 1)[2] == [0, 0, 3]
    assert column(rollout.observation, 1)[3] == [1, 0, 0]


def test_a_lost_life_ends_a_rollout_but_no_game():
    player = Player(fakes.ScriptedGame([[1.0], [2.0]]), max_steps=5)
    first, no_games, _ = player.collector.collect(keep_next_action=False)
    second, games, _ = player.collector.collect(keep_next_action=False)
    assert len(first.reward) == len(second.reward) == 1
    assert no_games == ()
    assert [(game.episode_return, game.length_steps) for game in games] == [(3.0, 2)]


def test_rewards_are_clipped_and_scores_are_not():
    player = Player(
        fakes.ScriptedGame([[5.0, -7.0, 0.5]]), max_steps=5, max_abs_reward=1
    )
    rollout, games, _ = player.collector.collect(keep_next_action=False)
    assert column(rollout.reward) == [1.0, -1.0, 0.5]
    assert games[0].episode_return == -1.5


def test_rewards_are_scaled_after_clipping_and_scores_are_not():
    player = Player(
        fakes.ScriptedGame([[5.0, -7.0, 0.5]]),
        max_steps=5,
        max_abs_reward=1,
        reward_scale=0.25,
    )
    rollout, games, _ = player.collector.collect(keep_next_action=False)
    assert column(rollout.reward) == [0.25, -0.25, 0.125]
    assert rollout.reward.dtype == np.float32
    assert games[0].episode_return == -1.5


def test_a_rollout_without_steps_is_refused():
    with pytest.raises(ValueError, match="max_steps is 0: a rollout needs at least 1"):
        Player(fakes.ScriptedGame([[0.0]]), max_steps=0)


def test_a_stop_ends_a_rollout_within_a_step_and_discards_it():
    games = [fakes.ScriptedGame([[1.0], [1.0] * 10**6]) for _ in range(2)]
    player = Player(*games, max_steps=10**6, stop_after=7)
    assert player.collector.collect(keep_next_action=False) == (None, (), 14)


# ---------------------------------------------------------------------- what is carried


def test_a_rollout_in_mid_episode_starts_from_the_carried_state():
    player = Player(fakes.ScriptedGame([[0.0] * 5]), max_steps=2)
    collected = [player.collect() for _ in range(4)]
    assert [rollout.state.tolist() for rollout in collected] == [[0], [2], [4], [5]]
    assert [column(rollout.is_first) for rollout in collected] == [
        [True, False],
        [False, False],
        [False],
        [True, False],  # The state of 5 is for the network to forget.
    ]
    # The policy forgot it: its actions tell odd steps from even ones.
    assert column(collected[3].action) == [1, 0]


def test_a_kept_action_is_the_one_really_taken_next():
    game = fakes.ScriptedGame([[0.0] * 3])
    player = Player(game, max_steps=2)
    collected = [player.collect(keep_next_action=True) for _ in range(4)]
    for rollout, following in itertools.pairwise(collected):
        assert rollout.next_action.tolist() == following.action[0].tolist()
    # One choice a step and one more; the step after an end is of a new episode.
    assert player.policy.num_acts == len(game.actions) + 1 == 7
    assert game.actions == [1, 0, 1, 1, 0, 1]


def test_a_kept_action_leaves_the_state_before_it():
    player = Player(fakes.ScriptedGame([[0.0] * 9]), max_steps=2)
    player.collect(keep_next_action=True)
    assert player.collect(keep_next_action=True).state.tolist() == [2]


def test_where_the_next_action_is_kept_only_cuts_are_valued():
    player = Player(fakes.ScriptedGame([[0.0] * 3], truncated=True), max_steps=2)
    assert column(player.collect(keep_next_action=True).bootstrap) == [0.0, 0.0]
    assert column(player.collect(keep_next_action=True).bootstrap) == [10.0]
    assert player.policy.asked == [([[0, 0, 3]], [3])]


def test_else_no_action_follows():
    player = Player(fakes.ScriptedGame([[0.0]]), max_steps=2)
    assert player.collect().next_action is None


# ------------------------------------------------------------------ what is not finite

NAN_REWARD = {"reward": float("nan")}
NAN_OBSERVATION = {"observation": np.array([0, np.nan, 0], np.float32)}


@pytest.mark.parametrize("fault", [NAN_REWARD, NAN_OBSERVATION])
def test_a_rollout_that_is_not_finite_is_dropped_whole_and_its_steps_counted(fault):
    game = fakes.FaultyGame([[1.0] * 4], {(0, 0, 3): fault})
    player = Player(game, max_steps=5)
    assert player.collector.collect(keep_next_action=False) == (None, (), 3)
    rollout, games, steps = player.collector.collect(keep_next_action=False)
    assert column(rollout.observation) == [[1, 0, step] for step in range(4)]
    assert column(rollout.is_first) == [True, False, False, False]
    assert np.isfinite(rollout.n_step_returns()).all()
    assert (games[0].episode_return, steps) == (4.0, 4)


def test_nobody_asks_for_the_value_of_what_is_not_finite():
    game = fakes.FaultyGame([[1.0] * 4], {(0, 0, 2): NAN_OBSERVATION})
    player = Player(game, max_steps=2)
    player.collect()
    assert player.policy.asked == []


def test_after_a_dropped_rollout_the_others_go_on_from_the_state_they_acted_with():
    broken = fakes.FaultyGame([[0.0] * 9], {(0, 0, 2): NAN_REWARD})
    player = Player(broken, fakes.ScriptedGame([[0.0] * 9]), max_steps=3)
    assert player.collector.collect(keep_next_action=False) == (None, (), 4)
    rollout = player.collect()
    # Both had acted twice; learning forgets the state of the first, as acting does.
    assert rollout.state.tolist() == [2, 2]
    assert column(rollout.is_first, 0) == [True, False, False]
    assert column(rollout.is_first, 1) == [False, False, False]
    assert column(rollout.observation, 1) == [[0, 0, step] for step in (2, 3, 4)]
    assert column(rollout.action, 0) == [1, 0, 1]  # Steps 1, 2, 3 of its episode.
    assert column(rollout.action, 1) == [1, 0, 1]  # Steps 3, 4, 5.


def test_after_a_dropped_rollout_no_kept_action_is_left():
    game = fakes.FaultyGame([[0.0] * 9], {(0, 0, 3): NAN_REWARD})
    player = Player(game, max_steps=2)
    kept = player.collect(keep_next_action=True).next_action
    assert player.collect(keep_next_action=True) is None
    assert game.actions[2] == kept
    rollout = player.collect(keep_next_action=True)
    assert column(rollout.observation) == [[1, 0, 0], [1, 0, 1]]
    assert column(rollout.action) == [1, 0]


# ------------------------------------------------------------------ continuous actions


class Lever(dm_env.Environment):
    """Keeps the actions that arrive, in [-1, 1]^2."""

    def __init__(self):
        self.actions = []

    def reset(self):
        return dm_env.restart(np.zeros(1, np.float32))

    def step(self, action):
        self.actions.append(action.tolist())
        return time_steps.transition(0.0, np.zeros(1, np.float32))

    def observation_spec(self):
        return specs.Array((1,), np.float32)

    def action_spec(self):
        return specs.BoundedArray((2,), np.float64, -1.0, 1.0)


class FarOut(CountingPolicy):
    """Draws actions out of bounds."""

    def act(self, observation, is_first, state):
        return np.array([[5.0, -0.5]], np.float32), state


def test_the_environment_gets_clipped_actions_and_the_loss_those_that_were_drawn():
    lever = Lever()
    collector = rollouts.RolloutCollector(
        environment_batch.EnvironmentBatch([wrappers.adapt(lever)]),
        FarOut(),
        max_steps=1,
        discount=0.5,
        max_abs_reward=None,
    )
    rollout, *_ = collector.collect(keep_next_action=False)
    assert lever.actions == [[1.0, -0.5]]
    assert rollout.action.dtype == np.float32
    assert rollout.action.tolist() == [[[5.0, -0.5]]]
