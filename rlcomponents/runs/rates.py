"""How fast counts grow: between two moments, and over the last seconds."""

import collections
from typing import NamedTuple


class Moment(NamedTuple):
    """How far something was.

    Attributes:
        secs: When, since any moment.
        counts: What it had counted by then; in each moment the same ones.
    """

    secs: float
    counts: tuple[float, ...]

    def rates_since(self, earlier: "Moment") -> tuple[float, ...]:
        """Returns the growth of each count a second; 0 where no time has passed."""
        secs = self.secs - earlier.secs
        if secs <= 0.0:
            return (0.0,) * len(self.counts)
        pairs = zip(self.counts, earlier.counts, strict=True)
        return tuple((now - before) / secs for now, before in pairs)


class Window:
    """The moments of the last seconds. For one thread."""

    def __init__(self, length_secs: float) -> None:
        """Starts without a moment.

        Args:
            length_secs: How long they are kept.
        """
        self._length_secs = length_secs
        self._moments: collections.deque[Moment] = collections.deque()

    def add(self, moment: Moment) -> None:
        """Adds one later than all before."""
        self._moments.append(moment)
        # One from before the window stays: there may be long gaps between them.
        start_secs = moment.secs - self._length_secs
        while len(self._moments) > 1 and self._moments[1].secs <= start_secs:
            self._moments.popleft()

    def __len__(self) -> int:
        """Returns how many moments are kept."""
        return len(self._moments)

    def rates(self) -> tuple[float, ...]:
        """Returns how fast the counts have grown, of one moment at least."""
        return self._moments[-1].rates_since(self._moments[0])
