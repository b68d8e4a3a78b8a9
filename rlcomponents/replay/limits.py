"""How much a replay table holds, when it may be sampled, and how often.

Pure Python: settings that would leave a program waiting for ever are refused while the
program is being built, before any process exists.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplayLimits:
    """Limits of one table. Checked on construction.

    With `samples_per_insert`, the table holds actors and learners to that ratio once it
    has its minimum: it blocks whoever is ahead by more than `max_ahead_samples`.
    Without it, only the minimum applies and nobody is blocked after that.

    Attributes:
        max_items: Capacity; the oldest item makes room for a new one.
        min_items: Items without which nothing is sampled.
        batch_size: Items that a learner draws at once.
        samples_per_insert: How often each item is drawn on average. None: as often as
            learners like.
        max_ahead_samples: How far sampling may be ahead of the ratio, or behind it.
            None: a tenth of what is due at the minimum fill, but room for two batches
            and for two inserts in any case. Needs `samples_per_insert`.
    """

    max_items: int
    min_items: int
    batch_size: int
    samples_per_insert: float | None = None
    max_ahead_samples: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_items", "min_items", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: it must be at least 1."
                )
        if self.min_items > self.max_items:
            raise ValueError(
                f"min_items {self.min_items} is above max_items {self.max_items}: the "
                "table never fills up to its minimum and learners wait for ever; lower "
                "min_items or raise max_items."
            )
        if self.batch_size > self.max_items:
            raise ValueError(
                f"batch_size {self.batch_size} is above max_items {self.max_items}: "
                "the table never holds a batch of different items; lower batch_size or "
                "raise max_items."
            )
        if self.samples_per_insert is None:
            if self.max_ahead_samples is not None:
                raise ValueError(
                    f"max_ahead_samples is {self.max_ahead_samples} but there is no "
                    "samples_per_insert to be ahead of: give both or neither."
                )
            return
        self._check_ratio(self.samples_per_insert)

    @property
    def slack_samples(self) -> float:
        """How far sampling may be ahead of `samples_per_insert`, or behind it.

        Raises:
            ValueError: There is no ratio.
        """
        if self.samples_per_insert is None:
            raise ValueError("Limits without samples_per_insert have no slack.")
        if self.max_ahead_samples is not None:
            return self.max_ahead_samples
        return max(
            0.1 * self.samples_per_insert * self.min_items,
            2.0 * self.batch_size,
            2.0 * self.samples_per_insert,
        )

    def _check_ratio(self, samples_per_insert: float) -> None:
        if not 0 < samples_per_insert < math.inf:
            raise ValueError(
                f"samples_per_insert is {samples_per_insert}: it must be above 0 and "
                "finite, or None for no ratio."
            )
        if math.isnan(self.slack_samples):
            raise ValueError(
                "max_ahead_samples is nan: it must be a number of samples, or None for "
                "a tenth of what is due."
            )
        if self.slack_samples < self.batch_size:
            raise ValueError(
                f"batch_size {self.batch_size} is above max_ahead_samples "
                f"{self.slack_samples:g}: at the minimum fill sampling is blocked "
                "before a batch is complete, and a learner that actors wait for waits "
                "for them; raise max_ahead_samples to batch_size at least."
            )
        if self.slack_samples < max(1.0, samples_per_insert):
            raise ValueError(
                f"max_ahead_samples {self.slack_samples:g} is below samples_per_insert "
                f"{samples_per_insert:g}: a single insert goes beyond it and is "
                "blocked for ever; raise max_ahead_samples to samples_per_insert at "
                "least."
            )
