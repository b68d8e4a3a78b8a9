"""Atari 2600 games, with the preprocessing of the DQN papers, straight on ALE.

One agent step is one action, held for `frame_skip_frames` emulator frames. What the
agent sees is the pixelwise maximum of the last two of them (sprites flicker), as
luminance, scaled to 84x84 by area, stacked with the three before.

Differs from several wrappers: FIRE is not pressed at the start of an episode, since no
paper does; rewards are raw, since clipping is the learner's affair.
"""

import dataclasses
import functools
import pathlib
from typing import Any

import ale_py
import dm_env
import numpy as np
from ale_py import roms
from dm_env import specs as dm_env_specs

from rlcomponents import seeding, specs, states
from rlcomponents.environments import area_scaling, checker, time_steps

_SIZE = 84  # Height and width of a frame, in pixels.


@dataclasses.dataclass(frozen=True, kw_only=True)
class AtariSettings:
    """Settings of a game; the defaults are those of the DQN and Gorila papers.

    Attributes:
        frame_skip_frames: Emulator frames for which each action is held. At 1 there is
            one frame in a step, thus nothing to pool: observation k is frame k.
        stack_frames: Pooled frames in an observation, one from each agent step.
        min_null_ops_frames: Least number of null actions at the start of a game.
        max_null_ops_frames: Each game starts with a random number of null actions, from
            the least to this number, both included, all equally likely. Each lasts one
            emulator frame (not an agent step). 0: the first observation is the game's
            own first frame. What is scored during them is not part of any reward.
        sticky_action_probability: Chance, at each emulator frame, that the emulator
            repeats the action of the frame before. 0 in the papers, 0.25 in Machado
            et al. 2018.
        terminal_on_life_loss: Whether a lost life ends the episode with discount 0.
            The game is not restarted: see `Atari`.
        full_action_set: All 18 joystick actions instead of those the game uses.
        max_episode_frames: A game is cut, as a truncation (discount 1), when it has run
            for so many emulator frames, null actions included: 108,000 is half an hour.
            None: never.
    """

    frame_skip_frames: int = 4
    stack_frames: int = 4
    min_null_ops_frames: int = 0
    max_null_ops_frames: int = 30
    sticky_action_probability: float = 0.0
    terminal_on_life_loss: bool = False
    full_action_set: bool = False
    max_episode_frames: int | None = 108_000

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ValueError: One of them makes no sense.
        """
        for name in ("frame_skip_frames", "stack_frames"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be at least 1."
                )
        if self.max_null_ops_frames < 0:
            raise ValueError(
                f"max_null_ops_frames is {self.max_null_ops_frames}; it must be 0 (no "
                "null actions) or more."
            )
        if not 0 <= self.min_null_ops_frames <= self.max_null_ops_frames:
            raise ValueError(
                f"min_null_ops_frames is {self.min_null_ops_frames}; it must be from 0 "
                f"to max_null_ops_frames ({self.max_null_ops_frames})."
            )
        if not 0.0 <= self.sticky_action_probability <= 1.0:
            raise ValueError(
                f"sticky_action_probability is {self.sticky_action_probability}; it "
                "must be between 0 and 1."
            )
        if (
            self.max_episode_frames is not None
            and self.max_episode_frames <= self.max_null_ops_frames
        ):
            raise ValueError(
                f"max_episode_frames is {self.max_episode_frames}; it must be more "
                f"than max_null_ops_frames ({self.max_null_ops_frames}), or None for "
                "no limit."
            )


@functools.cache
def game_names() -> tuple[str, ...]:
    """Returns the games that can be played alone, in ALE's spelling, sorted.

    Four of ALE's ROMs are for two players only; loading one of them as a game for one
    ends the process, so they are not listed.
    """
    return tuple(
        game
        for game in sorted(roms.get_all_rom_ids())
        if ale_py.ALEInterface.isSupportedROM(_rom_path(game)) is not None
    )


def make(game: str, settings: AtariSettings, seed: int) -> "Atari":
    """Starts an emulator with a game in it.

    Args:
        game: One of `game_names()`.
        settings: Settings of the game.
        seed: Not negative. The same seed, game and actions give the same frames.

    Returns:
        The game as an environment.
    """
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator_seed = np.random.SeedSequence([seed]).generate_state(1)[0] >> 1
    emulator.setInt("random_seed", int(emulator_seed))  # ALE takes 31 bits.
    emulator.setFloat(
        "repeat_action_probability", float(settings.sticky_action_probability)
    )
    emulator.loadROM(_rom_path(game))  # After the settings, which it reads.
    return Atari(emulator, settings, seed)


class Atari(dm_env.Environment):
    """One game in one emulator. Not thread-safe.

    Observations are `[84, 84, stack_frames]` uint8, newest frame last, a new array each
    step. Every FIRST observation holds copies of the one frame on the screen, also
    after a lost life, so that no episode's stack shows another's.

    With `terminal_on_life_loss`, a lost life gives a LAST step with discount 0 and
    `game_over` False; the `reset` after it goes on with the same game, from the frame
    that is on the screen: no frame is emulated, no null action taken; score and lives
    run on. Any other `reset` starts a new game.
    """

    def __init__(self, emulator: Any, settings: AtariSettings, seed: int) -> None:
        """Takes over an emulator that has a game loaded.

        Args:
            emulator: `ale_py.ALEInterface`, or whatever behaves like it.
            settings: Settings of the game.
            seed: Seed of the null actions.
        """
        self._emulator = emulator
        self._settings = settings
        self._rng = np.random.default_rng(seed)
        self._actions = (
            emulator.getLegalActionSet()
            if settings.full_action_set
            else emulator.getMinimalActionSet()
        )
        # The raw frames to be pooled; they take turns.
        height, width = emulator.getScreenDims()
        self._screens = np.zeros((2, height, width), np.uint8)
        self._scaler = area_scaling.AreaScaler(height, width, _SIZE)
        self._stack = np.zeros((_SIZE, _SIZE, settings.stack_frames), np.uint8)
        self._observation_spec = specs.FrameStack(
            self._stack.shape, np.uint8, 0, 255, "frames"
        )
        self._game_frames = 0
        self._game_over = False
        self._life_lost = False
        self._reset_next_step = True
        # What the next life begins with: ALE draws no screen for a restored state.
        self._frame = np.zeros((_SIZE, _SIZE), np.uint8)

    def reset(self) -> dm_env.TimeStep:
        """Starts a new game, or goes on with the game after a lost life."""
        if not self._life_lost:
            self._start_game()
            self._frame = self._look()
        self._game_over = False
        self._life_lost = False
        self._reset_next_step = False
        num_frames = self._stack.shape[-1]
        self._stack = np.repeat(self._frame[..., np.newaxis], num_frames, axis=-1)
        return dm_env.restart(self._stack)

    def step(self, action: int) -> dm_env.TimeStep:
        """Holds an action for `frame_skip_frames` frames.

        Args:
            action: In [0, number of actions).

        Returns:
            The step; its reward is the sum over the frames. The frames stop short where
            the game ends.

        Raises:
            ValueError: No such action.
        """
        if self._reset_next_step:
            return self.reset()
        checker.check_action(action, len(self._actions))
        lives = self._emulator.lives()
        reward, frame = self._play(self._actions[int(action)])
        terminal = self._emulator.game_over(with_truncation=False)
        self._game_over = terminal or self._at_frame_limit()
        if self._settings.terminal_on_life_loss and self._emulator.lives() < lives:
            terminal = True
            self._life_lost = not self._game_over
            self._frame = self._look()
        self._reset_next_step = terminal or self._game_over

        self._stack = stack = _push(self._stack, frame)
        if terminal:
            return time_steps.termination(reward, stack)
        if self._game_over:
            return time_steps.truncation(reward, stack)
        return time_steps.transition(reward, stack)

    def observation_spec(self) -> specs.FrameStack:
        """Returns the spec of `[84, 84, stack_frames]` uint8."""
        return self._observation_spec  # Looked at each step; costly to make.

    def action_spec(self) -> dm_env_specs.DiscreteArray:
        """Returns the spec of `[]` int32, starting at 0."""
        return dm_env_specs.DiscreteArray(len(self._actions), np.int32, "action")

    def reward_spec(self) -> dm_env_specs.Array:
        """See `time_steps.reward_spec`."""
        return time_steps.reward_spec()

    def discount_spec(self) -> dm_env_specs.BoundedArray:
        """See `time_steps.discount_spec`."""
        return time_steps.discount_spec()

    @property
    def frames_per_step(self) -> int:
        """Emulator frames in one agent step."""
        return self._settings.frame_skip_frames

    @property
    def game_over(self) -> bool:
        """Whether the last step ended the game, not only a life."""
        return self._game_over

    @property
    def lives(self) -> int:
        """Lives left; 0 in games that have none."""
        return self._emulator.lives()

    def screen(self) -> np.ndarray:
        """Returns what a player sees: `[210, 160, 3]` uint8 RGB in most games.

        After `restore` only from the next step on.
        """
        return self._emulator.getScreenRGB()

    def save(self) -> states.State:
        """See `saving`. The emulator's state has its random generator in it."""
        emulator = self._emulator.cloneState(include_rng=True).serialize()
        return {
            "emulator": np.frombuffer(emulator, np.uint8),
            "rng": seeding.save_generator(self._rng),
            "stack": self._stack.copy(),
            "frame": self._frame.copy(),
            "game_frames": self._game_frames,
            "game_over": self._game_over,
            "life_lost": self._life_lost,
            "reset_next_step": self._reset_next_step,
        }

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        if state["stack"].shape != self._stack.shape:
            raise ValueError(f"its stack has shape {state['stack'].shape}")
        emulator = ale_py.ALEState(state["emulator"].tobytes())
        self._emulator.restoreState(emulator)
        seeding.restore_generator(self._rng, state["rng"])
        self._stack = state["stack"].copy()
        self._frame = state["frame"].copy()
        self._game_frames = state["game_frames"]
        self._game_over = state["game_over"]
        self._life_lost = state["life_lost"]
        self._reset_next_step = state["reset_next_step"]

    def _start_game(self) -> None:
        self._restart_emulator()
        null_ops = self._rng.integers(
            self._settings.min_null_ops_frames,
            self._settings.max_null_ops_frames,
            endpoint=True,
        )
        for _ in range(null_ops):
            self._emulator.act(ale_py.Action.NOOP)
            self._game_frames += 1
            if self._emulator.game_over(with_truncation=False):
                self._restart_emulator()

    def _restart_emulator(self) -> None:
        self._emulator.reset_game()
        self._game_frames = 0

    def _at_frame_limit(self) -> bool:
        limit = self._settings.max_episode_frames
        return limit is not None and self._game_frames >= limit

    def _look(self) -> np.ndarray:
        """Returns what is on the screen, `[84, 84]`."""
        self._emulator.getScreenGrayscale(self._screens[0])
        return self._scaler.scale(self._screens[0], self._screens[0])

    def _play(self, action: Any) -> tuple[float, np.ndarray]:
        """Holds one action; returns the reward and the pooled `[84, 84]` frame."""
        skip = self._settings.frame_skip_frames
        reward = 0.0
        num_screens = 0
        for index in range(skip):
            reward += self._emulator.act(action)
            self._game_frames += 1
            ended = (
                self._emulator.game_over(with_truncation=False)
                or self._at_frame_limit()
            )
            if ended or index >= skip - 2:
                self._emulator.getScreenGrayscale(self._screens[num_screens])
                num_screens += 1
            if ended:
                break
        newest = self._screens[num_screens - 1]
        return reward, self._scaler.scale(self._screens[0], newest)


def _push(stack: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Returns a new `[height, width, num_frames]` stack with `frame` as its newest."""
    pushed = np.empty_like(stack)
    # Byte by byte, each pixel's frames move one place forward at once, by a plain copy
    # (nine times as fast as of [..., 1:]); the last places are then the new frame's.
    pushed.reshape(-1)[:-1] = stack.reshape(-1)[1:]
    pushed[..., -1] = frame
    return pushed


def _rom_path(game: str) -> pathlib.Path:
    return pathlib.Path(roms.__file__).parent / f"{game}.bin"
