import itertools

import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents.environments import catch
from rlcomponents.testing import environment_contract


class TestCatchContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 40

    def make_environment(self, seed):
        return catch.Catch(catch.CatchSettings(), seed)


class TestBlindCatchContract(
    environment_contract.EnvironmentContract, absltest.TestCase
):
    num_steps = 40

    def make_environment(self, seed):
        return catch.Catch(catch.CatchSettings(ball_visible_rows=1), seed)


def _column(row):
    return int(np.argmax(row))


def _play_towards_the_ball(environment, *, sign):
    """Plays an episode in which the paddle goes to the ball, or from it."""
    timestep = environment.reset()
    ball = _column(timestep.observation[0])
    paddle = _column(timestep.observation[-1])
    actions = []
    while not timestep.last():
        actions.append(1 + sign * int(np.sign(ball - paddle)))
        timestep = environment.step(actions[-1])
        paddle = min(max(paddle + actions[-1] - 1, 0), 4)
    return timestep, len(actions)


def test_the_first_board_shows_the_ball_at_the_top_and_the_paddle_in_the_middle():
    observation = catch.Catch(catch.CatchSettings(), seed=0).reset().observation
    assert observation.shape == (10, 5)
    assert observation[0].sum() == 1.0
    np.testing.assert_array_equal(observation[-1], [0, 0, 1, 0, 0])
    assert observation.sum() == 2.0


def test_going_to_the_ball_earns_one_after_nine_steps():
    environment = catch.Catch(catch.CatchSettings(), seed=0)
    for _ in range(10):
        timestep, num_steps = _play_towards_the_ball(environment, sign=1)
        assert timestep.reward == 1.0
        assert timestep.discount == 0.0
        assert num_steps == 9


def test_going_from_the_ball_costs_one():
    environment = catch.Catch(catch.CatchSettings(), seed=0)
    rewards = {
        float(_play_towards_the_ball(environment, sign=-1)[0].reward) for _ in range(20)
    }
    # Where the ball starts above the paddle, staying there is a catch.
    assert rewards == {-1.0, 1.0}


def test_the_paddle_stops_at_the_wall():
    environment = catch.Catch(catch.CatchSettings(), seed=0)
    environment.reset()
    for _ in range(5):
        timestep = environment.step(0)
    np.testing.assert_array_equal(timestep.observation[-1], [1, 0, 0, 0, 0])
    timestep = environment.step(2)
    np.testing.assert_array_equal(timestep.observation[-1], [0, 1, 0, 0, 0])


def test_the_ball_starts_in_every_column():
    environment = catch.Catch(catch.CatchSettings(), seed=0)
    columns = {_column(environment.reset().observation[0]) for _ in range(60)}
    assert columns == {0, 1, 2, 3, 4}


def test_the_board_can_have_another_size():
    environment = catch.Catch(catch.CatchSettings(rows=4, columns=7), seed=0)
    assert environment.reset().observation.shape == (4, 7)
    assert [environment.step(1).last() for _ in range(3)] == [False, False, True]


def test_a_board_too_small_to_play_on_is_refused():
    with pytest.raises(ValueError, match="1 rows and 5 columns is too small"):
        catch.CatchSettings(rows=1)


def _blind_catch(ball):
    """Returns a blind game whose ball starts in a given column, and its first step."""
    settings = catch.CatchSettings(ball_visible_rows=1)
    for seed in itertools.count():
        environment = catch.Catch(settings, seed)
        timestep = environment.reset()
        if _column(timestep.observation[0]) == ball:
            return environment, timestep


def test_a_blind_game_shows_the_ball_in_the_first_row_only():
    for ball in range(5):
        environment, timestep = _blind_catch(ball)
        assert timestep.observation.sum() == 2.0
        while not timestep.last():
            timestep = environment.step(1)
            np.testing.assert_array_equal(timestep.observation[-1], [0, 0, 1, 0, 0])
            assert timestep.observation.sum() == 1.0
        assert timestep.reward == (1.0 if ball == 2 else -1.0)


def test_the_picture_of_a_blind_game_shows_the_ball_all_the_same():
    environment, _ = _blind_catch(0)
    environment.step(1)
    picture = environment.screen()[::16, ::16, 0] > 0
    np.testing.assert_array_equal(np.argwhere(picture), [[1, 0], [9, 2]])


def test_with_a_memory_every_ball_of_a_blind_game_is_caught():
    for ball in range(5):
        environment, timestep = _blind_catch(ball)
        paddle = 2
        while not timestep.last():
            action = 1 + int(np.sign(ball - paddle))
            paddle += action - 1
            timestep = environment.step(action)
        assert timestep.reward == 1.0


def test_without_a_memory_at_most_3_of_5_balls_of_a_blind_game_are_caught():
    """By trying every policy: an action for each ball, then one for each paddle."""
    starts = {}  # Where the paddle is after each ball and first action.
    for ball in range(5):
        for action in range(3):
            environment, _ = _blind_catch(ball)
            board = environment.step(action).observation
            assert board[:-1].sum() == 0.0  # The paddle is all that is left to see.
            starts[ball, action] = _column(board[-1])

    def catches(ball, policy):
        return any(
            _follow(policy, starts[ball, action], num_steps=8) == ball
            for action in range(3)
        )

    most = max(
        sum(catches(ball, policy) for ball in range(5))
        for policy in itertools.product(range(3), repeat=5)
    )
    assert most == 3  # A mean return of (3 - 2) / 5 = 0.2.


def _follow(policy, column, num_steps):
    """Returns where the paddle ends if each column has its action."""
    for _ in range(num_steps):
        column = min(max(column + policy[column] - 1, 0), 4)
    return column


def test_how_long_the_ball_is_seen_is_a_setting():
    environment = catch.Catch(catch.CatchSettings(ball_visible_rows=3), seed=0)
    environment.reset()
    sums = [environment.step(1).observation.sum() for _ in range(4)]
    assert sums == [2.0, 2.0, 1.0, 1.0]


def test_a_ball_that_is_never_seen_is_refused():
    with pytest.raises(ValueError, match="ball_visible_rows is 0"):
        catch.CatchSettings(ball_visible_rows=0)
