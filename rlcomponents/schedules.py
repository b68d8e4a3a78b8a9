"""Values that depend on a count: exploration rates, learning rates.

A schedule is a callable `schedule(count) -> float` that keeps no state, so whoever
holds the count (a store, a learner, an evaluator reading a log) gets the same value.
The unit of the count is the caller's and belongs in the name of the setting:
`epsilon_decay_updates`, `learning_rate_decay_steps`. No TensorFlow here.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Constant:
    """The same value at every count.

    Attributes:
        value: What every call returns.

    Raises:
        ValueError: `value` is not finite.
    """

    value: float

    def __post_init__(self) -> None:
        """Checks the setting."""
        if not math.isfinite(self.value):
            raise ValueError(f"value is {self.value}: give a finite number.")

    def __call__(self, count: int) -> float:
        """Returns the value, whatever the count."""
        del count
        return self.value


@dataclasses.dataclass(frozen=True)
class Linear:
    """Goes from `initial` to `final` along a straight line, then stays there.

    Attributes:
        initial: Value at count 0.
        final: Value from count `horizon` on, exactly.
        horizon: Counts from one to the other, in the unit that the schedule is
            called with. 0 means `final` at once.

    Raises:
        ValueError: `horizon` is negative, or a value is not finite.
    """

    initial: float
    final: float
    horizon: int

    def __post_init__(self) -> None:
        """Checks the settings."""
        for name in ("initial", "final"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(
                    f"{name} is {getattr(self, name)}: give a finite number."
                )
        # `not >=` rather than `<`, so that NaN is refused too.
        if not self.horizon >= 0:
            raise ValueError(
                f"horizon is {self.horizon}: give 0 (the final value at once) or more."
            )

    def __call__(self, count: int) -> float:
        """Returns the value at `count`, which is in the unit of `horizon`."""
        if count >= self.horizon:
            return self.final
        return self.initial + (self.final - self.initial) * count / self.horizon
