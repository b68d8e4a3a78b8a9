"""Several environments stepped as one, so that a network is called once for all."""

from collections.abc import Sequence
from typing import NamedTuple

import dm_env
import numpy as np

from rlcomponents import environment_loop as loops
from rlcomponents.environments import checker


class BatchStep(NamedTuple):
    """What came of one step of all environments.

    Attributes:
        reward: `[N]` float32, as the environments gave them.
        discount: `[N]` float32, the environments' own: 0 after a termination.
        last: `[N]` bool, whether the episode has ended.
        observation: `[N, ...]`, after the step; the episode's last where it has ended.
        episodes: The games that ended, if any.
    """

    reward: np.ndarray
    discount: np.ndarray
    last: np.ndarray
    observation: np.ndarray
    episodes: tuple[loops.EpisodeEnd, ...]


class EnvironmentBatch:
    """Steps N environments with one array of actions. Not thread-safe.

    An environment whose episode has ended is reset when `observe` is called next, so
    that no last observation is lost. One environment is a batch of 1.
    """

    def __init__(self, environments: Sequence[dm_env.Environment]) -> None:
        """Takes the environments; they are reset at the first `observe`.

        Args:
            environments: Of one observation and action spec. Where one says
                `game_over` is False at a LAST step, only a life was lost, and the
                score runs on.

        Raises:
            ValueError: None at all.
        """
        if not environments:
            raise ValueError("There are no environments to step: give at least one.")
        self._environments = tuple(environments)
        self._timesteps: list[dm_env.TimeStep | None] = [None] * len(environments)
        self._returns = [0.0] * len(environments)
        self._lengths_steps = [0] * len(environments)
        self._num_steps = 0

    def __len__(self) -> int:
        """Returns the number of environments."""
        return len(self._environments)

    def observe(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns what to act on, after the resets that are due.

        Returns:
            Observations `[N, ...]`, and `[N]` bool: where an episode begins. Calling
            it again before `step` changes nothing.
        """
        for index, environment in enumerate(self._environments):
            timestep = self._timesteps[index]
            if timestep is None or timestep.last():
                self._timesteps[index] = environment.reset()
        return self._observations(), np.array([t.first() for t in self._current()])

    def step(self, actions: np.ndarray) -> BatchStep:
        """Steps every environment.

        Args:
            actions: `[N, ...]`, one for each environment.

        Raises:
            ValueError: An environment gave a reward or discount that is not finite.
        """
        episodes = []
        self._num_steps += 1
        for index, environment in enumerate(self._environments):
            timestep = environment.step(actions[index])
            checker.check_timestep(environment, timestep, step=self._num_steps)
            self._timesteps[index] = timestep
            self._returns[index] += float(timestep.reward)
            self._lengths_steps[index] += 1
            if timestep.last() and getattr(environment, "game_over", True):
                episodes.append(
                    loops.EpisodeEnd(self._returns[index], self._lengths_steps[index])
                )
                self._returns[index], self._lengths_steps[index] = 0.0, 0
        current = self._current()
        return BatchStep(
            reward=np.array([t.reward for t in current], np.float32),
            discount=np.array([t.discount for t in current], np.float32),
            last=np.array([t.last() for t in current]),
            observation=self._observations(),
            episodes=tuple(episodes),
        )

    def _current(self) -> list[dm_env.TimeStep]:
        return [t for t in self._timesteps if t is not None]

    def _observations(self) -> np.ndarray:
        return np.stack([t.observation for t in self._current()])
