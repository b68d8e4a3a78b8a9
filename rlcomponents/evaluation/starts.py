"""Environments whose games begin elsewhere than at their beginning.

The papers evaluate from many starts, lest a policy score by a sequence of actions that
it knows by heart. What happens before the start is no part of the score.
"""

import math
from collections.abc import Sequence
from typing import Any

import dm_env
import numpy as np

from rlcomponents import core
from rlcomponents.environments import wrappers
from rlcomponents.evaluation import start_points


class _OtherStarts(wrappers.EnvironmentWrapper):
    """Begins each game with what `_begin` makes of the environment inside.

    A `reset` after a lost life goes on with the game, as the environment does.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        super().__init__(environment)
        self._reset_next_step = True
        self._life_lost = False
        self._cut = False
        self._left_steps = math.inf  # Until the game is cut; set by `_begin`.

    @property
    def game_over(self) -> bool:
        """Whether the last step ended the game, not only a life."""
        return self._cut or getattr(self._environment, "game_over", True)

    def reset(self) -> dm_env.TimeStep:
        """Begins a game, or goes on with it after a lost life."""
        self._reset_next_step = False
        if self._life_lost:
            self._life_lost = False
            return self._environment.reset()
        self._cut = False
        return dm_env.restart(self._begin())

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        if self._reset_next_step:
            return self.reset()
        timestep = self._environment.step(action)
        self._left_steps -= 1
        self._cut = self._left_steps <= 0
        if self._cut:
            timestep = timestep._replace(step_type=dm_env.StepType.LAST)
        self._reset_next_step = timestep.last()
        self._life_lost = timestep.last() and not self.game_over
        return timestep

    def save(self) -> None:
        """Saves nothing: see `environments.saving`."""

    def _begin(self) -> Any:
        """Returns the first observation of another game."""
        raise NotImplementedError


class NullOpStarts(_OtherStarts):
    """Begins each game with a random number of steps that do nothing.

    A game that ends during them is begun again, for what is left of them.
    """

    def __init__(
        self, environment: dm_env.Environment, *, max_null_ops_steps: int, seed: int
    ) -> None:
        """Wraps an environment.

        Args:
            environment: Has `null_action`, the action that does nothing.
            max_null_ops_steps: Null actions, one an agent step, are from 1 to this
                number, both included, all equally likely.
            seed: Of that draw.

        Raises:
            ValueError: The environment has no null action, or the number is below 1.
        """
        super().__init__(environment)
        if max_null_ops_steps < 1:
            raise ValueError(
                f"max_null_ops_steps is {max_null_ops_steps}: it must be at least 1."
            )
        action = getattr(environment, "null_action", None)
        if action is None:
            raise ValueError(
                "This environment has no action that does nothing, thus no null-op "
                "starts: give it an attribute null_action with the number of one, or "
                "let its games begin as they do."
            )
        self._null_action = np.asarray(action, environment.action_spec().dtype)[()]
        self._max_null_ops_steps = max_null_ops_steps
        self._rng = np.random.default_rng(seed)

    def _begin(self) -> Any:
        environment = self._environment
        timestep = environment.reset()
        for _ in range(self._rng.integers(self._max_null_ops_steps) + 1):
            timestep = environment.step(self._null_action)
            if timestep.last():
                timestep = environment.reset()
        return timestep.observation


class PointStarts(_OtherStarts):
    """Begins each game at the next of recorded points; after the last, at the first.

    Games are cut, as truncations, by the frames from the very beginning, those before
    the point among them.

    Reference:
        Nair et al. 2015 and van Hasselt et al. 2015: 100 points of human play, 108,000
        frames in all, rewards after the point only.
    """

    def __init__(
        self,
        make_environment: core.EnvironmentFactory,
        games: Sequence[start_points.RecordedGame],
        points: Sequence[start_points.StartPoint],
        *,
        frames_per_step: int,
        max_game_frames: int,
    ) -> None:
        """Makes the first environment; each game has one of its own.

        Args:
            make_environment: As in the recording.
            games: That were recorded.
            points: Of these games; at least one.
            frames_per_step: Environment frames of an agent step.
            max_game_frames: Frames after which a game is cut.

        Raises:
            ValueError: There is a point that leaves no step to play.
        """
        for index, point in enumerate(points):
            if point.frames_before + frames_per_step > max_game_frames:
                raise ValueError(
                    f"Start point {index} is {point.frames_before:,} frames into its "
                    f"game, and the game is cut after {max_game_frames:,}: nothing is "
                    "left to play; allow more frames."
                )
        super().__init__(make_environment(games[points[0].game].seed))
        self._make_environment = make_environment
        self._games = games
        self._points = points
        self._frames_per_step = frames_per_step
        self._max_game_frames = max_game_frames
        self._next = 0

    def _begin(self) -> Any:
        """See `_OtherStarts`.

        Raises:
            start_points.NotReproducedError: The point was not reached.
        """
        index = self._next
        self._next = (index + 1) % len(self._points)
        point = self._points[index]
        self._environment.close()
        game = self._games[point.game]
        self._environment = self._make_environment(game.seed)
        left_frames = self._max_game_frames - point.frames_before
        self._left_steps = left_frames // self._frames_per_step
        return start_points.reach(self._environment, game, point, index)
