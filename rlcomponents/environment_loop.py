"""Runs one actor in one environment, one agent step a call.

Acme's `EnvironmentLoop` works with our actors and environments; this one exists
because it can be stepped (a bundle acts and learns in turn), and because it counts
scores over whole games where losing a life ends an episode for learning.
"""

from typing import NamedTuple

import dm_env
from acme import core as acme_core


class EpisodeEnd(NamedTuple):
    """A game that has just ended.

    Attributes:
        episode_return: Sum of the rewards as the environment gave them.
        length_steps: Agent steps.
    """

    episode_return: float
    length_steps: int


class EnvironmentLoop(acme_core.Worker):
    """Steps an environment with an actor. Not thread-safe."""

    def __init__(self, environment: dm_env.Environment, actor: acme_core.Actor) -> None:
        """Stores both; the environment is reset at the first `step`.

        Args:
            environment: One that says `game_over` is asked for it at each LAST step:
                False means that the following episode goes on with the same game.
            actor: Told of every step, and updated after each.
        """
        self._environment = environment
        self._actor = actor
        self._timestep: dm_env.TimeStep | None = None
        self._return = 0.0
        self._length_steps = 0

    def step(self) -> EpisodeEnd | None:
        """Takes one agent step, after a reset where one is due.

        Returns:
            The game that ended with this step, if one did.
        """
        if self._timestep is None or self._timestep.last():
            self._timestep = self._environment.reset()
            self._actor.observe_first(self._timestep)
        action = self._actor.select_action(self._timestep.observation)
        self._timestep = self._environment.step(action)
        self._actor.observe(action, self._timestep)
        self._actor.update()
        self._return += float(self._timestep.reward)
        self._length_steps += 1
        if not self._timestep.last() or not getattr(
            self._environment, "game_over", True
        ):
            return None
        ended = EpisodeEnd(self._return, self._length_steps)
        self._return, self._length_steps = 0.0, 0
        return ended

    def run(self) -> None:
        """Steps for ever."""
        while True:
            self.step()
