"""Gorila's safeguard against gradients of unusually large loss.

A bad batch, or parameters that went astray on the way, show as a loss far above what
this learner usually sees. The learner then discards the gradient. No TensorFlow here:
losses come as floats.
"""

import math


class OutlierRule:
    """Judges each batch by its loss, against the losses of the batches before it.

    A batch is an outlier when

        |loss| > mean + num_deviations * deviation

    of the absolute losses seen so far, and not below `always_accept_below`. Only the
    upper side counts. Outliers enter the statistics like any other loss, and the
    statistics forget: mean and variance are exact over the first `horizon_batches`
    batches and exponentially weighted with that time constant afterwards. So when
    losses rise for good, say because rewards have been found at last, the rule gets
    used to them: after a long quiet time it accepts a new level as soon as the new
    level weighs `1 / (1 + num_deviations^2)`. That is after 61 batches with 4
    deviations and a horizon of 1,000.

    For the same reason (Cantelli's inequality) no stationary sequence of losses has
    more than that fraction of outliers. But where rewards are so sparse that fewer
    batches than that hold any, those may be exactly the outliers, for ever. Set
    `always_accept_below` to a loss that does no harm if rewards are that sparse.

    One rule belongs to one learner. Not thread-safe.

    Attributes:
        discarded: Batches that `accept` has refused, non-finite ones included.
        discarded_non_finite: Batches refused because their loss was NaN or infinite.
            A count that grows with every batch means that the parameters are lost.

    Reference:
        Nair et al. 2015, section 4.2. https://arxiv.org/abs/1507.04296. The paper
        says neither how many deviations nor how the running values are weighted.
        Differs: the warm-up, the forgetting and `always_accept_below` are ours.
    """

    def __init__(
        self,
        num_deviations: float,
        *,
        warmup_batches: int = 1_000,
        horizon_batches: int = 1_000,
        always_accept_below: float = 0.0,
    ) -> None:
        """Checks and stores the settings.

        Args:
            num_deviations: Standard deviations above the mean that are still usual.
            warmup_batches: First batches that are accepted whatever their finite
                loss; they only feed the statistics.
            horizon_batches: Time constant of the statistics; at least 2.
            always_accept_below: Losses below this are never outliers.

        Raises:
            ValueError: A setting is out of range.
        """
        if not 0.0 < num_deviations < math.inf:
            raise ValueError(
                f"num_deviations is {num_deviations}: give a positive number, or leave "
                "the rule out to accept every batch."
            )
        if warmup_batches < 0:
            raise ValueError(f"warmup_batches is {warmup_batches}: give at least 0.")
        if horizon_batches < 2:
            raise ValueError(
                f"horizon_batches is {horizon_batches}: the rule would forget every "
                "loss at once; give at least 2."
            )
        if not always_accept_below >= 0.0:
            raise ValueError(
                f"always_accept_below is {always_accept_below}: give at least 0."
            )
        self._num_deviations = num_deviations
        self._warmup_batches = warmup_batches
        self._horizon_batches = horizon_batches
        self._always_accept_below = always_accept_below
        self._batches = 0
        self._mean = 0.0
        self._variance = 0.0
        self.discarded = 0
        self.discarded_non_finite = 0

    def accept(self, loss: float) -> bool:
        """Says whether to use the gradient of one batch, and counts its loss.

        Args:
            loss: Mean loss over the batch, the number whose gradient is pushed. Its
                sign does not matter. NaN and infinite losses are refused at any time
                and never enter the statistics.
        """
        size = abs(loss)
        if not math.isfinite(size):
            self.discarded += 1
            self.discarded_non_finite += 1
            return False
        accepted = (
            self._batches < self._warmup_batches
            or size < self._always_accept_below
            or size <= self.threshold
        )
        self._observe(size)
        if not accepted:
            self.discarded += 1
        return accepted

    @property
    def threshold(self) -> float:
        """Largest absolute loss that is usual now, whether or not still warming up."""
        return self._mean + self._num_deviations * math.sqrt(self._variance)

    def save(self) -> dict[str, int | float]:
        """Returns the statistics and counts, for a checkpoint."""
        return {
            "batches": self._batches,
            "mean": self._mean,
            "variance": self._variance,
            "discarded": self.discarded,
            "discarded_non_finite": self.discarded_non_finite,
        }

    def restore(self, state: dict[str, int | float]) -> None:
        """Goes on from what `save` returned; the settings stay the constructor's."""
        self._batches = int(state["batches"])
        self._mean = float(state["mean"])
        self._variance = float(state["variance"])
        self.discarded = int(state["discarded"])
        self.discarded_non_finite = int(state["discarded_non_finite"])

    def _observe(self, size: float) -> None:
        """Moves mean and variance towards one absolute loss."""
        self._batches += 1
        weight = 1.0 / min(self._batches, self._horizon_batches)
        surprise = size - self._mean
        self._mean += weight * surprise
        self._variance = (1.0 - weight) * (self._variance + weight * surprise**2)
