"""Games as the peers have them, with the preprocessing of ours; for `peers.py`."""

import argparse
import pathlib
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from ale_py import env

GAME = "pong"


def make_game(
    game: str = GAME, *, noop_max: int = 30, channel: bool = False
) -> gymnasium.Env:
    """Makes a game as the DQN papers have it, without the stack of frames.

    Without the checks that `gymnasium.make` wraps around it, and rendering grey rather
    than RGB by default: both make it faster.
    """
    environment = env.AtariEnv(
        game,
        frameskip=1,
        repeat_action_probability=0.0,
        obs_type="grayscale",
        max_num_frames_per_episode=108_000,
    )
    return gymnasium.wrappers.AtariPreprocessing(
        environment, noop_max=noop_max, grayscale_newaxis=channel
    )


def make_stacked_game(game: str = GAME, *, noop_max: int = 30) -> gymnasium.Env:
    """Makes a game with stacks of four frames, `[4, 84, 84]`."""
    return gymnasium.wrappers.FrameStackObservation(
        make_game(game, noop_max=noop_max), 4
    )


def make_clipped_game() -> gymnasium.Env:
    """Makes what Stable-Baselines3 stacks by itself: `[84, 84, 1]`, rewards clipped."""
    return gymnasium.wrappers.TransformReward(make_game(channel=True), np.sign)


class OldGame:
    """A game as PFRL knows environments: `step` returns four values."""

    def __init__(self, seed: int) -> None:
        """Makes the game."""
        self._environment = make_stacked_game()
        self._seed: int | None = seed
        self.action_space = self._environment.action_space

    def reset(self) -> np.ndarray:
        """Starts an episode."""
        observation, _ = self._environment.reset(seed=self._seed)
        self._seed = None
        return observation

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        """Takes a step."""
        observation, reward, ended, cut, info = self._environment.step(action)
        return observation, np.sign(reward), ended, {**info, "needs_reset": cut}

    def close(self) -> None:
        """Closes the game."""
        self._environment.close()


def make_vector(game: str = GAME, **settings: Any) -> Any:
    """Makes ale_py's vector environment: C++ throughout, frames preprocessed alike."""
    from ale_py import vector_env

    return vector_env.AtariVectorEnv(game, **settings)


def dump_frames(arguments: argparse.Namespace) -> None:
    """Plays given actions without null actions; keeps all observations.

    Reads `actions.npy`, writes `gymnasium.npz` and `ale_vector.npz`: observations
    `[T + 1, 4, 84, 84]`, rewards `[T]`, whether the game ended `[T]`. The step after
    the end of a game begins the next one, and its action has no effect.
    """
    folder = pathlib.Path(arguments.rows)
    actions = np.load(folder / "actions.npy")
    single = make_stacked_game(arguments.game, noop_max=0)
    _dump(
        folder / "gymnasium.npz",
        actions,
        lambda: single.reset(seed=0)[0],
        single.step,
    )
    vector = make_vector(
        arguments.game,
        num_envs=1,
        num_threads=1,
        noop_max=0,
        use_fire_reset=False,
        reward_clipping=False,
    )
    _dump(
        folder / "ale_vector.npz",
        actions,
        lambda: vector.reset(seed=0)[0][0],
        lambda action: tuple(part[0] for part in vector.step(np.array([action]))[:4]),
        resets_itself=True,
    )


def _dump(
    path: pathlib.Path,
    actions: np.ndarray,
    reset: Callable[[], np.ndarray],
    step: Callable[[int], tuple],
    *,
    resets_itself: bool = False,
) -> None:
    observations, rewards, ends = [np.array(reset())], [], []
    over = False
    for action in actions:
        if over and not resets_itself:
            observation, reward, over = reset(), 0.0, False
        else:
            observation, reward, ended, cut = step(int(action))[:4]
            over = bool(ended or cut)
        observations.append(np.array(observation))
        rewards.append(reward)
        ends.append(over)
    np.savez(path, observations=observations, rewards=rewards, ends=ends)
