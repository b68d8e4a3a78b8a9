"""Plays whole games and reports their raw scores.

A game is what a person would call one: where an environment ends the episode at each
lost life, the lives are played to the last and their rewards added up. Rewards are the
environment's own, never clipped, whatever the learner saw.
"""

import dataclasses
import math
from collections.abc import Callable

import dm_env
import numpy as np
from acme import core as acme_core


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
) -> EpisodeResults:
    """Plays games with an actor that acts and observes, but is never updated.

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

    Returns:
        The results, in the order played.

    Raises:
        ValueError: `num_episodes` or `max_episode_steps` is below 1.
    """
    if num_episodes < 1:
        raise ValueError(f"num_episodes must be at least 1, not {num_episodes}.")
    if max_episode_steps is not None and max_episode_steps < 1:
        raise ValueError(
            f"max_episode_steps must be at least 1 or None, not {max_episode_steps}."
        )
    returns: list[float] = []
    lengths_steps: list[int] = []
    while len(returns) < num_episodes:
        score, num_steps = 0.0, 0
        timestep = environment.reset()
        actor.observe_first(timestep)
        while num_steps != max_episode_steps:
            if should_stop is not None and should_stop():
                return EpisodeResults(tuple(returns), tuple(lengths_steps))
            if timestep.last():  # A life was lost.
                timestep = environment.reset()
                actor.observe_first(timestep)
            action = actor.select_action(timestep.observation)
            timestep = environment.step(action)
            actor.observe(action, timestep)
            score += float(timestep.reward)
            num_steps += 1
            if timestep.last() and getattr(environment, "game_over", True):
                break
        else:
            if timestep.last():
                # Cut at the very step that lost a life: this reset only goes on with
                # the old game, so that the next one starts a new game.
                environment.reset()
        returns.append(score)
        lengths_steps.append(num_steps)
    return EpisodeResults(tuple(returns), tuple(lengths_steps))
