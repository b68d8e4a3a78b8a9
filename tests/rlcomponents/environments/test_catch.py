import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents.environments import catch
from rlcomponents.testing import environment_contract


class TestCatchContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 40

    def make_environment(self, seed):
        return catch.Catch(catch.CatchSettings(), seed)


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
