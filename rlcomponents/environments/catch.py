"""Catch: a ball falls, a paddle moves. The smallest game that is worth learning.

It is learnt in seconds, which makes it the game for tests and for the first run on a
new machine. A random policy catches one ball in `columns`, the best one every ball.

With `ball_visible_rows=1` (`catch:blind`) it becomes the smallest game that takes a
memory: the ball is seen in the first row only, and from then on just the paddle. What a
policy without memory still knows of the ball is where its first action, which saw it,
moved the paddle: to one of three columns. From each of these it goes on in the same way
whatever the ball, so it catches at most 3 balls of 5, a mean return of 0.2.

Reference:
    Mnih et al. 2014 (arXiv:1406.6247), in the fully observed form and the size that
    bsuite (Osband et al. 2020, arXiv:1908.03568) gave it.
"""

import dataclasses

import dm_env
import numpy as np
from dm_env import specs

from rlcomponents import seeding, states
from rlcomponents.environments import checker, time_steps

_NUM_ACTIONS = 3  # Left, stay, right.
_CELL_PIXELS = 16  # Height and width of a cell of `screen`.


@dataclasses.dataclass(frozen=True, kw_only=True)
class CatchSettings:
    """Size of the board, and what is seen of it.

    Attributes:
        rows: Height; an episode takes `rows - 1` steps.
        columns: Width.
        ball_visible_rows: How many rows, from the top, the ball is seen in. None: all.
    """

    rows: int = 10
    columns: int = 5
    ball_visible_rows: int | None = None

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ValueError: The board is too small to play on.
        """
        if self.rows < 2 or self.columns < 1:
            raise ValueError(
                f"A board of {self.rows} rows and {self.columns} columns is too small: "
                "at least 2 rows and 1 column are needed."
            )
        if self.ball_visible_rows is not None and self.ball_visible_rows < 1:
            raise ValueError(
                f"ball_visible_rows is {self.ball_visible_rows}: nobody could know "
                "where the ball is; it must be at least 1, or None for all rows."
            )


VARIANTS = {"blind": {"ball_visible_rows": 1}}
"""Settings by the name of a variant."""


class Catch(dm_env.Environment):
    """The game. Not thread-safe.

    Observations are `[rows, columns]` float32: 1 where the ball is, if it is visible,
    and where the paddle is, 0 elsewhere; a new array each step. Actions: 0 left, 1
    stay, 2 right. The reward is +1 for a catch and -1 for a miss, at the last step.

    Attributes:
        null_action: Stay: the nearest to doing nothing, though the ball falls.
    """

    null_action = 1

    def __init__(self, settings: CatchSettings, seed: int) -> None:
        """Initialises the game.

        Args:
            settings: Of the board.
            seed: Seed of the column where the ball appears.
        """
        self._settings = settings
        self._rng = np.random.default_rng(seed)
        self._ball_row = 0
        self._ball_column = 0
        self._paddle_column = 0
        self._reset_next_step = True

    def reset(self) -> dm_env.TimeStep:
        """Starts an episode: the ball anywhere at the top, the paddle in the middle."""
        self._reset_next_step = False
        self._ball_row = 0
        self._ball_column = int(self._rng.integers(self._settings.columns))
        self._paddle_column = self._settings.columns // 2
        return dm_env.restart(self._board())

    def step(self, action: int) -> dm_env.TimeStep:
        """Moves the paddle, then drops the ball by one row.

        Args:
            action: 0 left, 1 stay, 2 right.

        Raises:
            ValueError: No such action.
        """
        if self._reset_next_step:
            return self.reset()
        checker.check_action(action, _NUM_ACTIONS)
        paddle_column = self._paddle_column + int(action) - 1
        self._paddle_column = min(max(paddle_column, 0), self._settings.columns - 1)
        self._ball_row += 1
        if self._ball_row < self._settings.rows - 1:
            return time_steps.transition(0.0, self._board())
        self._reset_next_step = True
        caught = self._ball_column == self._paddle_column
        return time_steps.termination(1.0 if caught else -1.0, self._board())

    def observation_spec(self) -> specs.BoundedArray:
        """Returns the spec of `[rows, columns]` float32 in [0, 1]."""
        shape = (self._settings.rows, self._settings.columns)
        return specs.BoundedArray(shape, np.float32, 0.0, 1.0, "board")

    def action_spec(self) -> specs.DiscreteArray:
        """Returns the spec of `[]` int32 in [0, 3)."""
        return specs.DiscreteArray(_NUM_ACTIONS, np.int32, "action")

    def reward_spec(self) -> specs.Array:
        """See `time_steps.reward_spec`."""
        return time_steps.reward_spec()

    def discount_spec(self) -> specs.BoundedArray:
        """See `time_steps.discount_spec`."""
        return time_steps.discount_spec()

    def screen(self) -> np.ndarray:
        """Returns the board, white on black, `[16 rows, 16 columns, 3]` uint8 RGB.

        The ball is in it always: people see more than the agent.
        """
        board = (255 * self._draw(with_ball=True)).astype(np.uint8)
        board = board.repeat(_CELL_PIXELS, axis=0).repeat(_CELL_PIXELS, axis=1)
        return np.stack([board] * 3, axis=-1)

    def save(self) -> states.State:
        """See `saving`."""
        return {
            "rng": seeding.save_generator(self._rng),
            "ball": [self._ball_row, self._ball_column],
            "paddle_column": self._paddle_column,
            "reset_next_step": self._reset_next_step,
        }

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        seeding.restore_generator(self._rng, state["rng"])
        self._ball_row, self._ball_column = state["ball"]
        self._paddle_column = state["paddle_column"]
        self._reset_next_step = state["reset_next_step"]

    def _board(self) -> np.ndarray:
        visible_rows = self._settings.ball_visible_rows
        return self._draw(
            with_ball=visible_rows is None or self._ball_row < visible_rows
        )

    def _draw(self, *, with_ball: bool) -> np.ndarray:
        board = np.zeros((self._settings.rows, self._settings.columns), np.float32)
        if with_ball:
            board[self._ball_row, self._ball_column] = 1.0
        board[-1, self._paddle_column] = 1.0
        return board
