import subprocess
import sys

import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents.environments import minatar
from rlcomponents.testing import environment_contract


class TestBreakoutContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 100

    def make_environment(self, seed):
        return minatar.MinAtar("breakout", minatar.MinAtarSettings(), seed)


class TestSeaquestContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 100

    def make_environment(self, seed):
        return minatar.MinAtar("seaquest", minatar.MinAtarSettings(), seed)


def _make(game="breakout", seed=0, **settings):
    return minatar.MinAtar(game, minatar.MinAtarSettings(**settings), seed)


@pytest.mark.parametrize(
    ("game", "num_channels"),
    [
        ("asterix", 4),
        ("breakout", 4),
        ("freeway", 7),
        ("seaquest", 10),
        ("space_invaders", 6),
    ],
)
def test_each_game_shows_its_channels_and_takes_six_actions(game, num_channels):
    environment = _make(game)
    observation = environment.reset().observation
    assert observation.dtype == bool
    assert observation.shape == (10, 10, num_channels)
    assert environment.action_spec().num_values == 6
    assert game in minatar.game_names()


def test_the_paddle_obeys_when_actions_do_not_stick():
    environment = _make(sticky_action_probability=0.0)
    environment.reset()
    right = environment.step(3).observation
    # The paddle is channel 0, in the lowest row, and starts in column 4.
    assert list(np.flatnonzero(right[9, :, 0])) == [5]


def test_an_action_that_always_sticks_is_the_one_before_the_episode():
    environment = _make(sticky_action_probability=1.0)
    environment.reset()
    stuck = environment.step(3).observation
    assert list(np.flatnonzero(stuck[9, :, 0])) == [4]


def test_no_action_sticks_from_one_episode_to_the_next():
    environment = _make(sticky_action_probability=0.5)
    columns = set()
    for _ in range(50):
        environment.reset()
        environment.step(3)
        environment.reset()
        left = environment.step(1).observation
        columns.update(np.flatnonzero(left[9, :, 0]))
    assert columns == {3, 4}  # Left or nothing; right would give 5.


def test_actions_stick_as_often_as_asked():
    environment = _make("seaquest", sticky_action_probability=0.25)
    played = []
    act = environment._game.act
    environment._game.act = lambda action: (played.append(action), act(0))[1]
    asked = []
    environment.reset()
    while len(played) < 4000:
        # Alternating, so that an action is unlike the one asked before it.
        action = len(asked) % 2
        if not environment.step(action).first():
            asked.append(action)
    # P(played differs from asked) = s (1 - s) + s^3 (1 - s) + ... = s / (1 + s).
    assert np.mean(np.not_equal(asked, played)) == pytest.approx(0.2, abs=0.03)


def test_a_step_limit_is_a_truncation_that_keeps_the_real_last_observation():
    limited, free = _make(max_episode_steps=4), _make()
    limited.reset()
    free.reset()
    steps = [(limited.step(0), free.step(0)) for _ in range(4)]
    assert [step.last() for step, _ in steps] == [False, False, False, True]
    last, unlimited = steps[-1]
    assert last.discount == 1.0
    np.testing.assert_array_equal(last.observation, unlimited.observation)
    assert limited.step(0).first()


def test_losing_the_ball_ends_the_episode_with_discount_zero():
    environment = _make(sticky_action_probability=0.0)
    timestep = environment.reset()
    while not timestep.last():
        timestep = environment.step(1)
    assert timestep.discount == 0.0


def test_the_picture_has_one_colour_for_each_kind_of_object():
    environment = _make()
    environment.reset()
    picture = environment.screen()
    assert picture.shape == (160, 160, 3)
    state = environment._game.state()
    empty = ~state.any(axis=-1)
    cells = picture[::16, ::16]
    assert not cells[empty].any()
    bricks, paddle = cells[state[..., 3]], cells[state[..., 0]]
    assert len(np.unique(bricks, axis=0)) == 1
    assert not np.array_equal(bricks[0], paddle[0])


@pytest.mark.parametrize(
    "settings", [{"sticky_action_probability": 1.5}, {"max_episode_steps": 0}]
)
def test_senseless_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} is "):
        minatar.MinAtarSettings(**settings)


def test_a_game_loads_neither_matplotlib_nor_pandas():
    program = """
import sys
from rlcomponents.environments import registry
registry.make_factory("minatar:breakout")(0).reset()
loaded = {"matplotlib", "pandas", "seaborn", "minatar", "tensorflow"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)
