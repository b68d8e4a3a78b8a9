"""What a shard decides: which gradients are too old, when a target copy is due.

The same for every store, wherever it keeps its arrays and counts.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import update_rules


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardRules:
    """The settings of a shard, and what follows from them.

    Attributes:
        update_rule: How gradients change parameters. Compiled here, not in a first
            push.
        learning_rate: Schedule over agent steps, all actors together.
        max_staleness_updates: Oldest gradient that is applied. None: any age.
        target_period_updates: Updates from one target copy to the next.
        target_period_steps: The same in agent steps, all actors together. The first
            copy is the initial parameters, in either unit. Both None: no target copy.

    Raises:
        ValueError: A setting out of its range, or a period in both units.
    """

    update_rule: update_rules.UpdateRule
    learning_rate: Callable[[int], float]
    max_staleness_updates: int | None
    target_period_updates: int | None
    target_period_steps: int | None

    def __post_init__(self) -> None:
        """Checks the settings and compiles the rule."""
        if not callable(self.learning_rate):
            raise ValueError(
                f"learning_rate is {self.learning_rate!r}: give a schedule over agent "
                "steps, such as schedules.Constant(0.001)."
            )
        if self.max_staleness_updates is not None and self.max_staleness_updates < 0:
            raise ValueError(
                f"max_staleness_updates is {self.max_staleness_updates}: give 0 or "
                "more, or None to apply gradients of any age."
            )
        for name in ("target_period_updates", "target_period_steps"):
            period = getattr(self, name)
            if period is not None and period < 1:
                raise ValueError(
                    f"{name} is {period}: give 1 or more, or None for no target copy."
                )
        if None not in (self.target_period_updates, self.target_period_steps):
            raise ValueError(
                f"target_period_updates is {self.target_period_updates} and "
                f"target_period_steps is {self.target_period_steps}: give one of them, "
                "the other is None."
            )
        rule = self.update_rule
        rule.apply(
            np.zeros(1, np.float32), np.zeros(1, np.float32), rule.make_state(1), 0.0
        )

    @property
    def keeps_target(self) -> bool:
        """Whether there is a target copy."""
        return (self.target_period_updates or self.target_period_steps) is not None

    def check_keeps_target(self) -> None:
        """Raises ValueError where there is no target copy."""
        if not self.keeps_target:
            raise ValueError(
                "This store keeps no target copy: set target_period_updates or "
                "target_period_steps."
            )

    def target_phase(self, *, steps: int, updates: int) -> int:
        """Returns how many periods these counts have left behind.

        A copy is due when this has grown since the last one, by however much: steps
        arrive several at once, so that most multiples of a period are jumped over.
        """
        if self.target_period_updates is not None:
            return updates // self.target_period_updates
        if self.target_period_steps is not None:
            return steps // self.target_period_steps
        return 0

    def judge(
        self, version: core.Version, now: core.Version
    ) -> tuple[core.Verdict, int]:
        """Decides about a gradient by its age.

        Args:
            version: That the gradient was computed from.
            now: The shard's.

        Returns:
            The verdict, and the staleness in updates (0 for another epoch).

        Raises:
            ValueError: The version is one that the shard has not reached.
        """
        if version.epoch != now.epoch:
            return core.Verdict.OTHER_EPOCH, 0
        staleness = now.updates - version.updates
        if staleness < 0:
            raise ValueError(
                f"The gradient claims update {version.updates} of a shard at update "
                f"{now.updates}: pass the versions of the snapshot it was computed "
                "from, one per shard, in order."
            )
        limit = self.max_staleness_updates
        if limit is not None and staleness > limit:
            return core.Verdict.STALE, staleness
        return core.Verdict.APPLIED, staleness


def checked_steps(steps: int) -> int:
    """Returns `steps`, which must not be negative."""
    if steps < 0:
        raise ValueError(f"{steps} agent steps: give 0 or more.")
    return steps
