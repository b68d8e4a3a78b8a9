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

from rlcomponents import environment_loop, finite


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
    watch: Callable[[int], None] | None = None,
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
        guard: Told of episodes that are not finite. None: one of its own.
        watch: Looks at the first game: called at its beginning with 0, and after each
            step with the agent steps so far. 0 again: the game before was discarded.

    Returns:
        The results, in the order played.

    Raises:
        ValueError: `num_episodes` or `max_episode_steps` is below 1.
        finite.NonFiniteError: Too many episodes in a row were not finite.
    """
    if num_episodes < 1:
        raise ValueError(f"num_episodes must be at least 1, not {num_episodes}.")
    if max_episode_steps is not None and max_episode_steps < 1:
        raise ValueError(
            f"max_episode_steps must be at least 1 or None, not {max_episode_steps}."
        )
    if guard is None:
        guard = finite.Watch().guard(advice=finite.MEND_ENVIRONMENT)
    game = environment_loop.Game(environment, guard)
    ended: list[environment_loop.EpisodeEnd] = []
    while len(ended) < num_episodes:
        if should_stop is not None and should_stop():
            break
        watched = watch if not ended else None
        if game.needs_reset:
            actor.observe_first(game.reset())
            if watched is not None and not game.length_steps:
                watched(0)
        assert game.timestep is not None
        action = actor.select_action(game.timestep.observation)
        end = game.step(action)
        if game.timestep is not None:
            actor.observe(action, game.timestep)
            if watched is not None:
                watched(game.length_steps if end is None else end.length_steps)
        if end is None and game.length_steps == max_episode_steps:
            end = game.leave()
        if end is not None:
            ended.append(end)
    return EpisodeResults(
        tuple(end.episode_return for end in ended),
        tuple(end.length_steps for end in ended),
    )
