"""Several environments stepped as one, so that a network is called once for all."""

from collections.abc import Sequence
from typing import NamedTuple

import dm_env
import numpy as np

from rlcomponents import environment_loop as loops
from rlcomponents import finite, specs


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


class BrokenStep(NamedTuple):
    """A step of which something was not finite: none of it may be learned from.

    Attributes:
        episodes: The games that ended, in the other environments.
    """

    episodes: tuple[loops.EpisodeEnd, ...]


class EnvironmentBatch:
    """Steps N environments with one array of actions. Not thread-safe.

    An environment whose episode has ended is reset when `observe` is called next, so
    that no last observation is lost. One environment is a batch of 1.
    """

    def __init__(
        self,
        environments: Sequence[dm_env.Environment],
        *,
        watch: finite.Watch | None = None,
    ) -> None:
        """Takes the environments; they are reset at the first `observe`.

        Args:
            environments: Of one observation and action spec. Where one says
                `game_over` is False at a LAST step, only a life was lost, and the
                score runs on.
            watch: Counts what is discarded. None: one of its own.

        Raises:
            ValueError: None at all, or observations that are not one array.
        """
        if not environments:
            raise ValueError("There are no environments to step: give at least one.")
        for environment in environments:
            specs.one_array(environment.observation_spec())
        watch = watch or finite.Watch()
        single = len(environments) == 1
        self._games = [
            loops.Game(
                environment,
                watch.guard(
                    part="" if single else f"environment {index}",
                    advice=finite.MEND_ENVIRONMENT,
                ),
                check_specs=True,
            )
            for index, environment in enumerate(environments)
        ]

    def __len__(self) -> int:
        """Returns the number of environments."""
        return len(self._games)

    def observe(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns what to act on, after the resets that are due.

        Returns:
            Observations `[N, ...]`, all finite, and `[N]` bool: where an episode
            begins. Calling it again before `step` changes nothing.

        Raises:
            finite.NonFiniteError: Too many episodes in a row were not finite.
        """
        for game in self._games:
            if game.needs_reset:
                game.reset()
        current = self._timesteps()
        observations = np.stack([t.observation for t in current])
        return observations, np.array([t.first() for t in current])

    def step(self, actions: np.ndarray) -> BatchStep | BrokenStep:
        """Steps every environment.

        Args:
            actions: `[N, ...]`, one for each environment.

        Returns:
            A broken step where anything is not finite. The environments that this came
            from then begin anew; the others go on where they are.

        Raises:
            ValueError: A step is not what the environment's specs say.
            finite.NonFiniteError: Too many episodes in a row were not finite.
        """
        ended = [game.step(actions[i]) for i, game in enumerate(self._games)]
        episodes = tuple(end for end in ended if end is not None)
        current = self._timesteps()
        if len(current) < len(self._games):
            return BrokenStep(episodes)
        return BatchStep(
            reward=np.array([t.reward for t in current], np.float32),
            discount=np.array([t.discount for t in current], np.float32),
            last=np.array([t.last() for t in current]),
            observation=np.stack([t.observation for t in current]),
            episodes=episodes,
        )

    def _timesteps(self) -> list[dm_env.TimeStep]:
        """Returns the newest of each environment that has one to act on."""
        return [game.timestep for game in self._games if game.timestep is not None]
