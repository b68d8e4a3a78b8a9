"""Stops NaN and infinity where they arise: named, counted, and few in a row.

One number that is not finite spoils replay, a recurrent state, a learner's statistics
and in the end all parameters, long before anybody sees why. So whoever takes numbers
from outside (an environment's steps) or makes them (a loss, a gradient) looks at them
here first. What is not finite goes no further: it is not stored, and not applied.

One of them may be an accident. Many in a row are a fault that no patience mends, and
end the program.
"""

import math
import time
from typing import Any

import dm_env
import numpy as np
import tree

from rlcomponents import pulse

MAX_IN_A_ROW = 10
"""Default of `max_nonfinite_in_a_row`."""

MEND_ENVIRONMENT = "mend the environment"
"""What to do where an environment gave what is not finite."""

MEND_LEARNING = (
    "learning has diverged; lower the learning rate, or clip gradients "
    "(max_gradient_norm)"
)
"""What to do where a loss or gradient is not finite."""

_SAY_PERIOD_SECS = 10.0
_LARGEST = float(np.finfo(np.float32).max)  # Everything is learned in float32.


class NonFiniteError(pulse.FatalError):
    """Too much in a row was NaN or infinite: the program is at its end."""


class Watch:
    """Counts what one node discards for not being finite. Not thread-safe.

    Its sentences do not name the node: whoever shows them puts that before them.

    Attributes:
        count: Episodes, rollouts and gradients discarded so far.
    """

    def __init__(self, *, max_in_a_row: int = MAX_IN_A_ROW) -> None:
        """Starts the count at 0.

        Args:
            max_in_a_row: With so many in a row at one guard, the program ends.

        Raises:
            ValueError: `max_in_a_row` is below 1.
        """
        if max_in_a_row < 1:
            raise ValueError(
                f"max_in_a_row is {max_in_a_row}: give at least 1, which ends the "
                "program at once."
            )
        self.count = 0
        self._max_in_a_row = max_in_a_row
        self._next_secs = -math.inf

    def guard(self, *, advice: str, part: str = "") -> "Guard":
        """Returns a guard with a row of its own.

        Args:
            advice: What to do about it; completes the sentence that ends the program.
            part: Of the node, for messages; empty where it is the whole.
        """
        return Guard(self, part, advice, self._max_in_a_row)

    def note(self, sentence: str) -> None:
        """Counts one, and says so: not more than once in 10 s."""
        self.count += 1
        now_secs = time.monotonic()
        if now_secs >= self._next_secs:
            self._next_secs = now_secs + _SAY_PERIOD_SECS
            pulse.current().say(f"{sentence}; discarded ({self.count} so far).")


class Guard:
    """Counts in a row, at one place where numbers come in. Not thread-safe."""

    def __init__(self, watch: Watch, part: str, advice: str, max_in_a_row: int) -> None:
        """See `Watch.guard`."""
        self._watch = watch
        self._part = part
        self._advice = advice
        self._max_in_a_row = max_in_a_row
        self._in_a_row = 0

    def discard(self, where: str, problem: str) -> None:
        """Notes that something was discarded.

        Args:
            where: "episode 12, step 7", or "update 300".
            problem: "reward is nan", as the functions below describe it.

        Raises:
            NonFiniteError: It was one too many in a row.
        """
        sentence = f"{where}: {problem}"
        if self._part:
            sentence = f"{self._part}, {sentence}"
        self._watch.note(sentence)
        self._in_a_row += 1
        if self._in_a_row >= self._max_in_a_row:
            raise NonFiniteError(
                f"{sentence}, the last of {self._in_a_row} in a row that were not "
                f"finite (max_nonfinite_in_a_row): {self._advice}."
            )

    def accept(self) -> None:
        """Notes that something whole was finite; the row begins anew."""
        self._in_a_row = 0


def describe_timestep(timestep: dm_env.TimeStep) -> str | None:
    """Says what of a time step is not finite; None where all is.

    Reward and discount also have to fit into float32. Numbers only: what is none at
    all, others refuse.
    """
    for name, value in (("reward", timestep.reward), ("discount", timestep.discount)):
        try:
            if not abs(float(value)) <= _LARGEST:
                return f"{name} is {value}"
        except (TypeError, ValueError):  # None in a first step, or no number.
            continue
    observation = timestep.observation
    if isinstance(observation, np.ndarray):
        return describe_array("observation", observation)
    for path, leaf in tree.flatten_with_path(observation):
        name = "/".join(["observation", *map(str, path)])
        problem = describe_array(name, np.asarray(leaf))
        if problem is not None:
            return problem
    return None


def describe_array(name: str, array: Any) -> str | None:
    """Says how much of an array is not finite; None where all is, or for integers."""
    if array.dtype.kind != "f":
        return None
    # Any NaN or infinity makes the sum of squares not finite: one cheap pass.
    if math.isfinite(np.vdot(array, array)):
        return None
    bad = array[~np.isfinite(array)]
    if not bad.size:  # Only the sum overflowed.
        return None
    problem = f"{name} is {bad.flat[0]}"
    if array.size > 1:
        problem += f" in {bad.size} of its {array.size} values"
    return problem
