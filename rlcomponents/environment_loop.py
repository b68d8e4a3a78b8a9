"""Runs one actor in one environment, one agent step a call.

Acme's `EnvironmentLoop` works with our actors and environments; this one exists
because it can be stepped (a bundle acts and learns in turn), and because it counts
scores over whole games where losing a life ends an episode for learning.
"""

import math
from typing import Any, NamedTuple

import dm_env
import numpy as np
import tree
from acme import core as acme_core

from rlcomponents import finite, states
from rlcomponents.environments import checker, saving


class EpisodeEnd(NamedTuple):
    """A game that has just ended.

    Attributes:
        episode_return: Sum of the rewards as the environment gave them.
        length_steps: Agent steps.
    """

    episode_return: float
    length_steps: int


class Game:
    """Resets and steps one environment, and keeps the score. Not thread-safe.

    What is not finite it gives to nobody: the episode is over from there, and the game
    has no score.

    Attributes:
        timestep: The newest. None where there is none to act on: before the first
            reset, and after a step that was not finite.
        length_steps: Agent steps of the game so far.
    """

    def __init__(
        self,
        environment: dm_env.Environment,
        guard: finite.Guard,
        *,
        check_specs: bool = False,
    ) -> None:
        """Stores its parts.

        Args:
            environment: One that says `game_over` is asked for it at each LAST step:
                False means that the following episode goes on with the same game.
            guard: Ends the program after too many broken episodes in a row.
            check_specs: Whether each step is compared with the environment's specs.
        """
        self.timestep: dm_env.TimeStep | None = None
        self._environment = environment
        self._guard = guard
        self._check_specs = check_specs
        self._episode = 0
        self._step = 0
        self._return = 0.0  # NaN where nobody knows it any more.
        self.length_steps = 0

    @property
    def needs_reset(self) -> bool:
        """Whether there is no step to act on."""
        return self.timestep is None or self.timestep.last()

    def reset(self) -> dm_env.TimeStep:
        """Begins an episode whose first observation is finite.

        Raises:
            finite.NonFiniteError: There have been too many in a row that were not.
        """
        while True:
            self._episode += 1
            self._step = 0
            timestep = self._environment.reset()
            if self._take(timestep):
                return timestep

    def step(self, action: Any) -> EpisodeEnd | None:
        """Takes a step; `timestep` is what came of it.

        Returns:
            The game that ended with this step, if one did.

        Raises:
            ValueError: The step is not what the specs say.
            finite.NonFiniteError: Too many episodes in a row were broken.
        """
        self._step += 1
        self.length_steps += 1
        timestep = self._environment.step(action)
        if not self._take(timestep):
            return None
        self._return += float(timestep.reward)
        if not timestep.last():
            return None
        self._guard.accept()
        return None if self._goes_on(timestep) else self._end()

    def leave(self) -> EpisodeEnd | None:
        """Gives up the game: the next reset begins another.

        Returns:
            What the game had come to; None where nobody knows its score.
        """
        if self.timestep is not None and self._goes_on(self.timestep):
            self._environment.reset()  # With the old game: the one after is new.
        self.timestep = None
        return self._end()

    def save(self) -> states.State:
        """Returns where in the game it is."""
        return {
            "environment": saving.save(self._environment),
            "timestep": None if self.timestep is None else _save_step(self.timestep),
            "episode": self._episode,
            "step": self._step,
            "return": None if math.isnan(self._return) else self._return,
            "length_steps": self.length_steps,
        }

    def restore(self, state: states.State) -> None:
        """Goes on from what `save` returned, in an environment like that one.

        Where the environment could not save itself, with a new game.
        """
        self._episode = state["episode"]
        if state["environment"] is None:
            return
        saving.restore(self._environment, state["environment"])
        saved = state["timestep"]
        self.timestep = None
        if saved is not None:
            self.timestep = _restore_step(saved, self._environment.observation_spec())
        self._step = state["step"]
        self._return = math.nan if state["return"] is None else state["return"]
        self.length_steps = state["length_steps"]

    def _take(self, timestep: dm_env.TimeStep) -> bool:
        problem = finite.describe_timestep(timestep)
        if problem is None:
            if self._check_specs:
                checker.check_timestep(self._environment, timestep, step=self._step)
            self.timestep = timestep
            return True
        self.timestep = None
        # Between two lives the game goes on; else the next reset begins another one.
        self._return = math.nan if self._goes_on(timestep) else 0.0
        self.length_steps = 0
        self._guard.discard(f"episode {self._episode}, step {self._step}", problem)
        return False

    def _goes_on(self, timestep: dm_env.TimeStep) -> bool:
        """Says whether the episode is over, but not the game: a life was lost."""
        return timestep.last() and not getattr(self._environment, "game_over", True)

    def _end(self) -> EpisodeEnd | None:
        """Ends the score; None where nobody knows it."""
        ended = EpisodeEnd(self._return, self.length_steps)
        self._return, self.length_steps = 0.0, 0
        return None if math.isnan(ended.episode_return) else ended


class EnvironmentLoop(acme_core.Worker):
    """Steps an environment with an actor. Not thread-safe."""

    def __init__(
        self,
        environment: dm_env.Environment,
        actor: acme_core.Actor,
        *,
        watch: finite.Watch | None = None,
    ) -> None:
        """Stores its parts; the environment is reset at the first `step`.

        Args:
            environment: See `Game`.
            actor: Told of every finite step, and updated after each. After one that is
                not, it is told of the first step of another episode.
            watch: Counts what is discarded. None: one of its own.
        """
        watch = watch or finite.Watch()
        self._game = Game(environment, watch.guard(advice=finite.MEND_ENVIRONMENT))
        self._actor = actor

    def step(self) -> EpisodeEnd | None:
        """Takes one agent step, after a reset where one is due.

        Returns:
            The game that ended with this step, if one did.

        Raises:
            finite.NonFiniteError: Too many episodes in a row were not finite.
        """
        if self._game.needs_reset:
            self._actor.observe_first(self._game.reset())
        assert self._game.timestep is not None
        action = self._actor.select_action(self._game.timestep.observation)
        ended = self._game.step(action)
        if self._game.timestep is not None:
            self._actor.observe(action, self._game.timestep)
            self._actor.update()
        return ended

    def run(self) -> None:
        """Steps for ever."""
        while True:
            self.step()

    def save(self) -> states.State:
        """See `Game`. The actor, and where its experience goes, are not in it."""
        return self._game.save()

    def restore(self, state: states.State) -> None:
        """See `Game`."""
        self._game.restore(state)


def _save_step(timestep: dm_env.TimeStep) -> states.State:
    return {
        "step_type": int(timestep.step_type),
        "reward": None if timestep.first() else np.asarray(timestep.reward),
        "discount": None if timestep.first() else np.asarray(timestep.discount),
        "observation": [np.array(leaf) for leaf in tree.flatten(timestep.observation)],
    }


def _restore_step(state: states.State, observation_spec: Any) -> dm_env.TimeStep:
    reward, discount = state["reward"], state["discount"]
    return dm_env.TimeStep(
        dm_env.StepType(state["step_type"]),
        None if reward is None else reward[()],
        None if discount is None else discount[()],
        tree.unflatten_as(observation_spec, state["observation"]),
    )
