"""n-step returns of an episode, computed as it unfolds."""

import collections
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class NStepItem(NamedTuple):
    """What lies between two observations of one episode.

    Attributes:
        num_steps: Steps from the first observation to the newest one.
        action: Taken at the first observation.
        reward: Discounted sum of the rewards in between.
        discount: What the newest observation is worth, as seen from the first.
    """

    num_steps: int
    action: int
    reward: float
    discount: float


class NStepReturns:
    """Turns the steps of episodes into items of `num_steps` steps.

        reward   = sum_{i<k} (prod_{j<i} gamma d_j) r_i
        discount = prod_{j<k} gamma d_j

    with k = `num_steps`, or fewer in the tail of an episode: its last steps give items
    that end in its last observation and hold the true discount of their length.

    Reference:
        Sutton and Barto 2018, Reinforcement Learning, equation 7.1. Differs: the tail
        of an episode that was truncated bootstraps after fewer than n steps.
    """

    def __init__(
        self, num_steps: int, discount: float, max_abs_reward: float | None = None
    ) -> None:
        """Starts without an episode.

        Args:
            num_steps: Steps that an item spans, at least 1.
            discount: gamma, in [0, 1], per agent step.
            max_abs_reward: Each step's reward is clipped to this size before it is
                summed. None: not clipped.

        Raises:
            ValueError: A setting outside its range.
        """
        if num_steps < 1:
            raise ValueError(f"num_steps is {num_steps}: it must be at least 1.")
        if not 0.0 <= discount <= 1.0:
            raise ValueError(f"discount is {discount}: it must be in [0, 1].")
        if max_abs_reward is not None and not max_abs_reward > 0.0:
            raise ValueError(
                f"max_abs_reward is {max_abs_reward}: it must be above 0, or None for "
                "no clipping."
            )
        self._num_steps = num_steps
        self._discount = discount
        self._max_abs_reward = max_abs_reward
        self._steps: collections.deque[tuple[int, float, float]] = collections.deque()

    def reset(self) -> None:
        """Forgets the steps of an unfinished episode."""
        self._steps.clear()

    def save(self) -> list[tuple[int, float, float]]:
        """Returns the steps of the unfinished episode that items are still due to."""
        return list(self._steps)

    def restore(self, steps: Iterable[Sequence[float]]) -> None:
        """Goes on from what `save` returned, under the same number of steps."""
        self._steps = collections.deque(
            (int(action), float(reward), float(discount))
            for action, reward, discount in steps
        )

    def add(
        self, action: int, reward: float, discount: float, *, last: bool
    ) -> list[NStepItem]:
        """Takes the next step of the episode.

        Args:
            action: Taken in this step.
            reward: That followed, unclipped.
            discount: The environment's own: 0 where the step terminated the episode.
            last: Whether the episode ends here, by termination or truncation.

        Returns:
            The items that end in the observation after this step, oldest first: none in
            the first `num_steps - 1` steps, all the rest of the episode if `last`.
        """
        if self._max_abs_reward is not None:
            reward = float(np.clip(reward, -self._max_abs_reward, self._max_abs_reward))
        self._steps.append((action, reward, discount))
        items = []
        while self._steps and (last or len(self._steps) == self._num_steps):
            items.append(self._oldest())
            self._steps.popleft()
        return items

    def _oldest(self) -> NStepItem:
        total, weight = 0.0, 1.0
        for _, reward, discount in self._steps:
            total += weight * reward
            weight *= self._discount * discount
        return NStepItem(len(self._steps), self._steps[0][0], total, weight)
