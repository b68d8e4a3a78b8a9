"""What replay gives to learners, and the interface of whatever gives it.

No Reverb here, so that learners can be built and tested without it.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

_MAX_ACTION = 2**24  # Above, float32 has no room for every integer.


class Transition(NamedTuple):
    """One n-step transition, or a batch of them with a leading axis `[B]`.

    The target of a Q-learner is `reward + discount * max_a Q(next_observation, a)`: all
    that happened between the two observations is in these two numbers, at whatever
    number of steps the transition spans.

    Attributes:
        observation: Structure of the environment's observations, before the action.
        action: int32, taken at `observation`.
        reward: float32, discounted sum of the (clipped) rewards up to
            `next_observation`.
        discount: float32, what `next_observation` is worth: gamma once for each step
            spanned, times the environment's own discounts. 0 after a termination, and
            not after a truncation.
        next_observation: Structure of the environment's observations; the last one of
            the episode where the episode ends within n steps.
    """

    observation: Any
    action: Any
    reward: Any
    discount: Any
    next_observation: Any


class BatchSource(Protocol):
    """Gives batches of transitions to one learner."""

    def next_batch(self, timeout_secs: float) -> Transition | None:
        """Returns a batch, `[B, ...]`: TensorFlow tensors, or NumPy arrays to keep.

        Args:
            timeout_secs: Longest wait.

        Returns:
            None where no batch was to be had in time.
        """

    def close(self) -> None:
        """Frees what is held; no call may follow."""


def check_action_spec(spec: Any) -> None:
    """Refuses actions that replay cannot store.

    Raises:
        ValueError: They are not one integer each, or go up too far.
    """
    dtype, shape = getattr(spec, "dtype", None), getattr(spec, "shape", None)
    if shape != () or dtype is None or not np.issubdtype(dtype, np.integer):
        raise ValueError(
            f"Actions are {spec!r}: replay of transitions takes one integer, a scalar "
            "spec such as dm_env.specs.DiscreteArray."
        )
    largest = getattr(spec, "maximum", 0)
    if largest >= _MAX_ACTION:
        raise ValueError(
            f"Actions go up to {largest}: replay keeps them exact below {_MAX_ACTION}."
        )
