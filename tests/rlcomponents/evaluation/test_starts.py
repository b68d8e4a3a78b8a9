"""Tests of games that begin elsewhere, in games that count what was done."""

import dm_env
import numpy as np
import pytest
from acme import core as acme_core
from dm_env import specs

from rlcomponents.environments import atari, catch, minatar, wrappers
from rlcomponents.evaluation import episodes, start_points, starts


class Counting(dm_env.Environment):
    """Shows `[seed, game, actions so far]`; action k is rewarded with 10^k.

    A life is lost after each `life_steps` actions, the game after `num_lives` of them.
    """

    null_action = 0

    def __init__(self, seed=0, *, life_steps=100, num_lives=1):
        self._seed = seed
        self._life_steps = life_steps
        self._num_lives = num_lives
        self._game, self._step = 0, 0
        self._life_lost = False
        self.actions = []
        self.closed = False

    @property
    def game_over(self):
        return self._step == self._life_steps * self._num_lives

    def reset(self):
        if not self._life_lost:
            self._game, self._step = self._game + 1, 0
        self._life_lost = False
        return dm_env.restart(self._show())

    def step(self, action):
        assert not self._life_lost
        self.actions.append(int(action))
        self._step += 1
        if self._step % self._life_steps:
            return dm_env.transition(10.0**action, self._show())
        self._life_lost = not self.game_over
        return dm_env.termination(10.0**action, self._show())

    def _show(self):
        return np.array([self._seed, self._game, self._step], np.float32)

    def observation_spec(self):
        return specs.Array((3,), np.float32)

    def action_spec(self):
        return specs.DiscreteArray(3)

    def close(self):
        self.closed = True


class Constant(acme_core.Actor):
    """Always takes the same action; remembers the first observations."""

    def __init__(self, action):
        self._action = action
        self.firsts = []

    def select_action(self, observation):
        return self._action

    def observe_first(self, timestep):
        self.firsts.append(timestep.observation.tolist())

    def observe(self, action, next_timestep):
        pass

    def update(self, wait=False):
        pass


def null_op_starts(environment, *, maximum=30, seed=0):
    return starts.NullOpStarts(environment, max_null_ops_steps=maximum, seed=seed)


def point_starts(make_environment, points, *, num_actions=50, frames_per_step=4, cap):
    """Begins at `(num_steps, seed, frames_before)` of games of action 1 (10 points)."""
    games = [
        start_points.RecordedGame(seed, np.ones(num_actions, np.uint8))
        for _, seed, _ in points
    ]
    made = [
        start_points.StartPoint(
            index,
            num_steps,
            frames,
            start_points.checksum(np.array([seed, 1, num_steps], np.float32)),
        )
        for index, (num_steps, seed, frames) in enumerate(points)
    ]
    return starts.PointStarts(
        make_environment,
        games,
        made,
        frames_per_step=frames_per_step,
        max_game_frames=cap,
    )


# ---------------------------------------------------------------------------- null-ops


def test_games_begin_after_one_to_so_many_null_ops_all_of_which_come_up():
    environment = null_op_starts(Counting(), maximum=4)
    numbers = [int(environment.reset().observation[2]) for _ in range(400)]
    assert set(numbers) == {1, 2, 3, 4}
    # Each in one of four: 100 of 400, within four standard deviations of 8.7.
    assert all(65 <= numbers.count(number) <= 135 for number in (1, 2, 3, 4))


def test_null_ops_are_null_actions_and_no_part_of_score_and_length():
    inside = Counting(life_steps=40)
    actor = Constant(2)
    results = episodes.play_episodes(null_op_starts(inside), actor, 1)
    [[_, _, num_null_ops]] = actor.firsts
    played = int(40 - num_null_ops)
    assert inside.actions == [0] * int(num_null_ops) + [2] * played
    assert results.returns == (100.0 * played,)
    assert results.lengths_steps == (played,)


def test_the_first_step_after_null_ops_is_a_first_step():
    timestep = null_op_starts(Counting()).reset()
    assert timestep.first()
    assert timestep.reward is None


def test_a_game_that_ends_during_null_ops_is_begun_again():
    environment = null_op_starts(Counting(life_steps=3), maximum=9)
    for _ in range(50):
        assert 0 <= environment.reset().observation[2] < 3


def test_a_reset_after_a_lost_life_goes_on_without_null_ops():
    inside = Counting(life_steps=50, num_lives=2)
    results = episodes.play_episodes(null_op_starts(inside), Constant(1), 3)
    assert len(results.returns) == 3
    played = [100 - length for length in results.lengths_steps]
    assert all(1 <= num_null_ops <= 30 for num_null_ops in played)
    assert inside.actions.count(0) == sum(played)


def test_the_same_seed_gives_the_same_null_ops():
    first, second = (
        [null.reset().observation[2] for _ in range(9)]
        for null in (null_op_starts(Counting(), seed=5) for _ in range(2))
    )
    assert first == second


@pytest.mark.parametrize(
    ("environment", "null_action"),
    [
        pytest.param(catch.Catch(catch.CatchSettings(), 0), 1, id="catch"),
        pytest.param(
            minatar.MinAtar("breakout", minatar.MinAtarSettings(), 0), 0, id="minatar"
        ),
    ],
)
def test_our_games_know_their_null_action(environment, null_action):
    assert environment.null_action == null_action
    assert null_op_starts(environment).reset().first()


def test_an_environment_without_null_action_is_refused():
    game = atari.make("pong", atari.AtariSettings(), 0)  # Has null-ops of its own.
    with pytest.raises(ValueError, match="no action that does nothing"):
        null_op_starts(game)


def test_less_than_one_null_op_is_refused():
    with pytest.raises(ValueError, match="max_null_ops_steps is 0"):
        null_op_starts(Counting(), maximum=0)


def test_null_ops_of_a_users_environment_are_in_its_own_numbers():
    class FromTwo(Counting):
        null_action = 3

        def action_spec(self):
            return specs.BoundedArray((), np.int64, 2, 4)

    inside = FromTwo()
    environment = null_op_starts(wrappers.ActionOffset(inside), maximum=5)
    environment.reset()
    assert set(inside.actions) == {3}


# -------------------------------------------------------------------------------points


def test_each_game_begins_at_the_next_point_with_the_seed_of_its_recording():
    environment = point_starts(Counting, [(7, 5, 28), (0, 6, 0)], cap=1_000)
    assert [environment.reset().observation.tolist() for _ in range(3)] == [
        [5, 1, 7],
        [6, 1, 0],
        [5, 1, 7],
    ]


def test_what_was_scored_before_the_point_does_not_count():
    environment = point_starts(
        lambda seed: Counting(seed, life_steps=40), [(30, 5, 120)], cap=108_000
    )
    results = episodes.play_episodes(environment, Constant(0), 1)
    # 30 actions of 10 points before it, 10 of 1 point after it.
    assert results.returns == (10.0,)
    assert results.lengths_steps == (10,)


def test_the_cap_counts_from_the_beginning_of_the_recorded_play():
    points = [(7, 5, 28), (0, 6, 0), (20, 7, 83)]
    environment = point_starts(Counting, points, cap=100)
    results = episodes.play_episodes(environment, Constant(0), 3)
    # 100 frames at 4 a step, less 28, 0 and 83 before: 18, 25, and 4 (17 frames).
    assert results.lengths_steps == (18, 25, 4)


def test_a_game_is_cut_as_a_truncation():
    environment = point_starts(Counting, [(7, 5, 28)], cap=36)
    environment.reset()
    assert environment.step(0).mid()
    last = environment.step(0)
    assert (last.step_type, last.discount) == (dm_env.StepType.LAST, 1.0)
    assert environment.game_over
    assert environment.step(0).first()


def test_the_cap_counts_over_all_lives_before_and_after_the_point():
    def make(seed):
        return Counting(seed, life_steps=5, num_lives=20)

    environment = point_starts(make, [(12, 5, 48)], cap=80)
    results = episodes.play_episodes(environment, Constant(0), 2)
    assert results.lengths_steps == (8, 8)
    assert results.returns == (8.0, 8.0)


def test_a_game_is_closed_when_the_next_begins():
    made = []

    def make(seed):
        made.append(Counting(seed))
        return made[-1]

    environment = point_starts(make, [(1, 5, 4)], cap=100)
    environment.reset()
    environment.reset()
    environment.close()
    assert len(made) == 3
    assert all(each.closed for each in made)


def test_a_point_that_leaves_nothing_to_play_is_refused():
    with pytest.raises(ValueError, match="Start point 1 is 97 frames into its game"):
        point_starts(Counting, [(24, 5, 96), (24, 5, 97)], cap=100)


def test_neither_saves_itself():
    assert null_op_starts(Counting()).save() is None
