import ale_py
import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents import specs
from rlcomponents.environments import atari
from rlcomponents.testing import environment_contract


class TestBreakoutContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 60

    def make_environment(self, seed):
        settings = atari.AtariSettings(terminal_on_life_loss=True)
        return atari.make("breakout", settings, seed)


class TestPongContract(environment_contract.EnvironmentContract, absltest.TestCase):
    num_steps = 60

    def make_environment(self, seed):
        # The game's own end is 760 frames or more away.
        settings = atari.AtariSettings(max_episode_frames=150)
        return atari.make("pong", settings, seed)


class _FakeEmulator:
    """Paints the number of the frame, counted from the game's start, on the screen.

    A life is lost at each of `life_loss_frames`; the game is over with the last life.
    Each frame scores one point.
    """

    def __init__(self, *, lives=1, life_loss_frames=()):
        self.actions = []
        self.games = 0
        self.frame = 0
        self._start_lives = lives
        self._lives = lives
        self._life_loss_frames = life_loss_frames

    def getScreenDims(self):
        return (210, 160)

    def getMinimalActionSet(self):
        return ["noop", "fire", "left"]

    def getLegalActionSet(self):
        return [f"action_{index}" for index in range(18)]

    def getScreenGrayscale(self, screen):
        screen[:] = self.paint(self.frame)

    def paint(self, frame):
        return frame

    def reset_game(self):
        self.games += 1
        self.frame = 0
        self._lives = self._start_lives

    def act(self, action):
        assert not self.game_over(with_truncation=False), "played after the end"
        self.actions.append(action)
        self.frame += 1
        self._lives -= self.frame in self._life_loss_frames
        return 1

    def lives(self):
        return self._lives

    def game_over(self, *, with_truncation):
        assert not with_truncation
        return self._lives == 0


class _FlickeringEmulator(_FakeEmulator):
    """Shows its sprites, of brightness 100 + frame, on even frames only."""

    def paint(self, frame):
        return 100 + frame if frame % 2 == 0 else 0


def _make(emulator, *, seed=0, **settings):
    settings = {"max_null_ops_frames": 0, **settings}
    return atari.Atari(emulator, atari.AtariSettings(**settings), seed)


def _stack(timestep):
    """Returns the value that each frame of the stack is painted with."""
    for frame in np.moveaxis(timestep.observation, -1, 0):
        assert np.ptp(frame) == 0
    return list(timestep.observation[0, 0])


def test_an_action_is_held_for_four_frames_and_their_rewards_are_summed():
    emulator = _FakeEmulator()
    environment = _make(emulator)
    environment.reset()
    timestep = environment.step(2)
    assert emulator.actions == ["left"] * 4
    assert timestep.reward == 4.0
    assert environment.frames_per_step == 4


def test_without_frame_skip_observation_k_is_frame_k():
    emulator = _FakeEmulator()
    environment = _make(emulator, frame_skip_frames=1, stack_frames=1)
    assert _stack(environment.reset()) == [0]
    assert [_stack(environment.step(0)) for _ in range(5)] == [[k] for k in range(1, 6)]


def test_without_frame_skip_no_frame_shows_through_from_the_step_before():
    environment = _make(_FlickeringEmulator(), frame_skip_frames=1, stack_frames=1)
    environment.reset()
    assert [_stack(environment.step(0)) for _ in range(4)] == [[0], [102], [0], [104]]


@pytest.mark.parametrize("skip", [2, 3, 4])
def test_the_last_two_frames_of_a_step_are_pooled(skip):
    environment = _make(_FlickeringEmulator(), frame_skip_frames=skip, stack_frames=1)
    environment.reset()
    for step in range(1, 5):
        last_even_frame = step * skip // 2 * 2
        assert _stack(environment.step(0)) == [100 + last_even_frame]


def test_the_stack_holds_the_newest_frame_last():
    environment = _make(_FakeEmulator())
    assert _stack(environment.reset()) == [0, 0, 0, 0]
    stacks = [_stack(environment.step(0)) for _ in range(5)]
    assert stacks[0] == [0, 0, 0, 4]
    assert stacks[4] == [8, 12, 16, 20]


def test_zero_null_ops_give_the_games_own_first_frame():
    emulator = _FakeEmulator()
    timestep = _make(emulator, max_null_ops_frames=0).reset()
    assert emulator.actions == []
    assert _stack(timestep) == [0, 0, 0, 0]


def test_a_negative_number_of_null_ops_is_refused():
    with pytest.raises(ValueError, match="max_null_ops_frames is -1"):
        atari.AtariSettings(max_null_ops_frames=-1)


def test_null_ops_last_one_frame_each_and_every_number_of_them_comes_up():
    emulator = _FakeEmulator()
    environment = _make(emulator, max_null_ops_frames=3)
    frames = [environment.reset().observation[0, 0, 0] for _ in range(100)]
    assert set(frames) == {0, 1, 2, 3}
    assert set(emulator.actions) == {ale_py.Action.NOOP}
    assert sum(frames) == len(emulator.actions)


def test_at_least_so_many_null_ops_are_made_as_is_asked_for():
    environment = _make(_FakeEmulator(), min_null_ops_frames=2, max_null_ops_frames=4)
    frames = {environment.reset().observation[0, 0, 0] for _ in range(100)}
    assert frames == {2, 3, 4}


@pytest.mark.parametrize("minimum", [-1, 4])
def test_a_least_number_of_null_ops_that_cannot_be_is_refused(minimum):
    with pytest.raises(ValueError, match=r"it must be from 0 to .* \(3\)"):
        atari.AtariSettings(min_null_ops_frames=minimum, max_null_ops_frames=3)


def test_a_game_that_ends_during_null_ops_is_started_again():
    emulator = _FakeEmulator(lives=1, life_loss_frames={2})
    environment = _make(emulator, max_null_ops_frames=9)
    for _ in range(20):
        timestep = environment.reset()
        assert timestep.first()
        assert set(_stack(timestep)) <= {0, 1}
        assert environment.lives == 1


def test_a_lost_life_ends_the_episode_but_not_the_game():
    emulator = _FakeEmulator(lives=5, life_loss_frames={6})
    environment = _make(
        emulator, terminal_on_life_loss=True, max_null_ops_frames=30, seed=3
    )
    environment.reset()
    emulator.reset_game()  # So that the life is lost in the second step.
    assert environment.step(1).mid()
    games, num_frames = emulator.games, len(emulator.actions)

    lost = environment.step(1)
    assert lost.last()
    assert lost.discount == 0.0
    assert lost.reward == 4.0
    assert not environment.game_over

    after = environment.reset()
    assert after.first()
    assert environment.lives == 4
    assert emulator.games == games
    assert len(emulator.actions) == num_frames + 4  # The reset emulated nothing.
    assert _stack(after) == [8, 8, 8, 8]
    assert _stack(environment.step(1)) == [8, 8, 8, 12]


def test_the_score_runs_on_over_lives_until_the_game_is_over():
    emulator = _FakeEmulator(lives=3, life_loss_frames={4, 9, 14})
    environment = _make(emulator, terminal_on_life_loss=True)
    episodes, score = 0, 0.0
    timestep = environment.reset()
    while not environment.game_over:
        timestep = environment.step(0)
        score += timestep.reward
        if timestep.last():
            episodes += 1
            assert timestep.discount == 0.0
            if not environment.game_over:
                environment.reset()
    assert episodes == 3
    assert score == 14.0  # One point for each frame of the one game.
    assert emulator.games == 1
    environment.reset()
    assert emulator.games == 2
    assert environment.lives == 3
    assert not environment.game_over


def test_stepping_after_a_lost_life_goes_on_with_the_same_game():
    emulator = _FakeEmulator(lives=2, life_loss_frames={4})
    environment = _make(emulator, terminal_on_life_loss=True)
    environment.reset()
    assert environment.step(0).last()
    assert environment.step(0).first()
    assert emulator.games == 1


def test_a_second_reset_after_a_lost_life_starts_a_new_game():
    emulator = _FakeEmulator(lives=2, life_loss_frames={4})
    environment = _make(emulator, terminal_on_life_loss=True)
    environment.reset()
    environment.step(0)
    environment.reset()
    assert _stack(environment.reset()) == [0, 0, 0, 0]
    assert emulator.games == 2


def test_lost_lives_are_no_ends_unless_asked_for():
    environment = _make(_FakeEmulator(lives=2, life_loss_frames={2, 6}))
    environment.reset()
    assert environment.step(0).mid()
    last = environment.step(0)
    assert last.last()
    assert environment.game_over


def test_a_game_that_ends_within_a_step_stops_there():
    emulator = _FakeEmulator(lives=1, life_loss_frames={5})
    environment = _make(emulator)
    environment.reset()
    environment.step(0)
    last = environment.step(0)
    assert last.reward == 1.0
    assert _stack(last) == [0, 0, 4, 5]


@pytest.mark.parametrize(
    ("last_frame", "pooled"),
    [(5, 195), (6, 194), (7, 193), (8, 193)],  # Only frame 8 has one before it to pool.
)
def test_the_last_frame_of_a_game_is_not_pooled_with_one_of_an_older_step(
    last_frame, pooled
):
    class Fading(_FakeEmulator):
        def paint(self, frame):
            return 200 - frame

    environment = _make(Fading(lives=1, life_loss_frames={last_frame}))
    environment.reset()
    environment.step(0)
    last = environment.step(0)
    assert last.last()
    assert _stack(last) == [200, 200, 197, pooled]


def test_stacks_restart_with_each_episode_and_the_old_one_keeps_its_frames():
    environment = _make(_FakeEmulator(), max_episode_frames=20)
    timestep = environment.reset()
    while not timestep.last():
        timestep = environment.step(0)
    first = environment.reset()
    assert _stack(first) == [0, 0, 0, 0]
    assert _stack(timestep) == [8, 12, 16, 20]


def test_the_frame_limit_is_a_truncation_at_that_very_frame():
    emulator = _FakeEmulator()
    environment = _make(emulator, max_episode_frames=6)
    environment.reset()
    assert environment.step(0).mid()
    last = environment.step(0)
    assert last.last()
    assert last.discount == 1.0
    assert last.reward == 2.0
    assert emulator.frame == 6
    assert environment.game_over
    environment.reset()
    assert emulator.games == 2


def test_the_frame_limit_counts_null_ops():
    emulator = _FakeEmulator()
    environment = _make(emulator, max_null_ops_frames=3, max_episode_frames=8)
    for _ in range(10):
        timestep = environment.reset()
        while not timestep.last():
            timestep = environment.step(0)
        assert emulator.frame == 8


def test_the_frame_limit_counts_over_lives():
    emulator = _FakeEmulator(lives=3, life_loss_frames={4})
    environment = _make(emulator, terminal_on_life_loss=True, max_episode_frames=8)
    environment.reset()
    assert environment.step(0).discount == 0.0
    environment.reset()
    last = environment.step(0)
    assert last.last()
    assert last.discount == 1.0


def test_without_a_frame_limit_the_game_runs_on():
    environment = _make(_FakeEmulator(), max_episode_frames=None)
    environment.reset()
    assert all(environment.step(0).mid() for _ in range(60))


@pytest.mark.parametrize(("full", "num_actions"), [(False, 3), (True, 18)])
def test_the_action_set_is_the_games_own_or_the_full_one(full, num_actions):
    environment = _make(_FakeEmulator(), full_action_set=full)
    assert environment.action_spec().num_values == num_actions


def test_the_observation_spec_is_a_frame_stack():
    spec = _make(_FakeEmulator(), stack_frames=3).observation_spec()
    assert isinstance(spec, specs.FrameStack)
    assert spec.shape == (84, 84, 3)
    assert spec.num_frames == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"frame_skip_frames": 0},
        {"stack_frames": 0},
        {"sticky_action_probability": -0.1},
        {"max_episode_frames": 30},
    ],
)
def test_senseless_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} is "):
        atari.AtariSettings(**settings)


def test_frames_are_area_averages_of_the_emulators_luminance():
    environment = atari.make(
        "breakout", atari.AtariSettings(max_null_ops_frames=0), seed=0
    )
    frame = environment.reset().observation[..., 0]
    emulator = ale_py.ALEInterface()
    emulator.loadROM(atari._rom_path("breakout"))
    screen = emulator.getScreenGrayscale().astype(np.float64)

    # Each pixel is the mean of a 2.5 by 1.905 area: weigh rows and columns by overlap.
    def overlaps(size):
        edges = np.arange(85) * size / 84
        cells = np.arange(size)
        low = np.maximum(edges[:-1, None], cells)
        high = np.minimum(edges[1:, None], cells + 1)
        return np.maximum(high - low, 0.0) * 84 / size

    expected = overlaps(210) @ screen @ overlaps(160).T
    assert np.abs(frame - expected).max() < 1.0


def test_sticky_actions_make_the_same_actions_end_differently():
    def play(seed, probability):
        environment = atari.make(
            "breakout",
            atari.AtariSettings(
                max_null_ops_frames=0, sticky_action_probability=probability
            ),
            seed,
        )
        environment.reset()
        return np.stack([environment.step(t % 4).observation for t in range(30)])

    assert not np.array_equal(play(1, 0.25), play(2, 0.25))
    np.testing.assert_array_equal(play(1, 0.25), play(1, 0.25))
    assert not np.array_equal(play(1, 0.25), play(1, 0.0))


def test_breakout_has_five_lives_and_its_first_reset_shows_them():
    environment = atari.make("breakout", atari.AtariSettings(), seed=0)
    environment.reset()
    assert environment.lives == 5
    assert environment.screen().shape == (210, 160, 3)


def test_the_listed_games_are_those_for_one_player():
    games = atari.game_names()
    assert {"pong", "breakout", "space_invaders", "montezuma_revenge"} <= set(games)
    assert "warlords" not in games
    assert len(games) > 100
