"""Plays whole games and reports their raw scores.

A game is what a person would call one: where an environment ends the episode at each
lost life, the lives are played to the last and their rewards added up. Rewards are the
environment's own, never clipped, whatever the learner saw.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable

import dm_env
import numpy as np
from acme import core as acme_core

from rlcomponents import finite


@dataclasses.dataclass(frozen=True)
class EpisodeResults:
    """Scores of games that were played to their end.

    Attributes:
        returns: Raw undiscounted return of each game.
        lengths_steps: Agent steps of each game.
    """

    returns: tuple[float, ...]
    lengths_steps: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean return; NaN if no game was played."""
        return float(np.mean(self.returns)) if self.returns else math.nan

    @property
    def standard_error(self) -> float:
        """Sample deviation over the root of the number; NaN below two games."""
        if len(self.returns) < 2:
            return math.nan
        return float(np.std(self.returns, ddof=1) / math.sqrt(len(self.returns)))


def play_episodes(
    environment: dm_env.Environment,
    actor: acme_core.Actor,
    num_episodes: int,
    *,
    max_episode_steps: int | None = None,
    should_stop: Callable[[], bool] | None = None,
    guard: finite.Guard | None = None,
) -> EpisodeResults:
    """Plays games with an actor that acts and observes, but is never updated.

    A game with a step that is not finite is discarded, and another played in its place.

    Args:
        environment: Where its last time step has `environment.game_over` False, only a
            life was lost and the next `reset` goes on with the game. An environment
            without that attribute is over at each last time step.
        actor: Chooses the actions.
        num_episodes: Games to play, at least 1.
        max_episode_steps: Agent steps after which a game is cut and counted with the
            score it has. Gorila's protocol allows 18,000 frames: 4,500 steps.
        should_stop: Asked before each step; True drops the game in play and returns
            those before it, perhaps none.
        guard: Told of games that are discarded. None: one of its own.

    Returns:
        The results, in the order played.

    Raises:
        ValueError: `num_episodes` or `max_episode_steps` is below 1.
        finite.NonFiniteError: Too many games in a row were not finite.
    """
    if num_episodes < 1:
        raise ValueError(f"num_episodes must be at least 1, not {num_episodes}.")
    if max_episode_steps is not None and max_episode_steps < 1:
        raise ValueError(
            f"max_episode_steps must be at least 1 or None, not {max_episode_steps}."
        )
    if guard is None:
        guard = finite.Watch("evaluation").guard(advice=finite.MEND_ENVIRONMENT)
    returns: list[float] = []
    lengths_steps: list[int] = []
    for number in itertools.count(1):
        game = _Game(environment, actor)
        while not game.over and game.num_steps != max_episode_steps:
            if should_stop is not None and should_stop():
                return EpisodeResults(tuple(returns), tuple(lengths_steps))
            game.step()
        game.leave()
        if game.problem is not None:
            guard.discard(f"episode {number}, step {game.num_steps}", game.problem)
            continue
        guard.accept()
        returns.append(game.score)
        lengths_steps.append(game.num_steps)
        if len(returns) == num_episodes:
            break
    return EpisodeResults(tuple(returns), tuple(lengths_steps))


class _Game:
    """One game, from its first reset.

    Attributes:
        score: Sum of the rewards.
        num_steps: Agent steps taken.
        problem: What was not finite; None so far.
    """

    def __init__(self, environment: dm_env.Environment, actor: acme_core.Actor) -> None:
        self.score = 0.0
        self.num_steps = 0
        self.problem: str | None = None
        self._environment = environment
        self._actor = actor
        self._timestep: dm_env.TimeStep
        self._reset()

    @property
    def over(self) -> bool:
        """Whether it was played to its end, or cannot go on."""
        return self.problem is not None or (
            self._timestep.last() and getattr(self._environment, "game_over", True)
        )

    def step(self) -> None:
        """Takes a step, or goes on with the next life."""
        if self._timestep.last():  # A life was lost.
            self._reset()
            return
        action = self._actor.select_action(self._timestep.observation)
        self._timestep = self._environment.step(action)
        self.num_steps += 1
        self.problem = finite.describe_timestep(self._timestep)
        if self.problem is None:
            self._actor.observe(action, self._timestep)
            self.score += float(self._timestep.reward)

    def leave(self) -> None:
        """Sees to it that the next reset begins another game."""
        if self._timestep.last() and not getattr(self._environment, "game_over", True):
            # Left at the very step that lost a life: this reset only goes on with the
            # old game.
            self._environment.reset()

    def _reset(self) -> None:
        self._timestep = self._environment.reset()
        self.problem = finite.describe_timestep(self._timestep)
        if self.problem is None:
            self._actor.observe_first(self._timestep)
