"""Speed of a program: now, and over the whole run."""

import collections
from typing import NamedTuple

from rlcomponents import core

_RATE_WINDOW_SECS = 10.0


class _Moment(NamedTuple):
    """How far the program was."""

    secs: float
    steps: int
    updates: int

    def rates_since(self, earlier: "_Moment") -> tuple[float, float]:
        """Returns steps and updates per second."""
        secs = self.secs - earlier.secs
        if secs <= 0.0:
            return 0.0, 0.0
        steps, updates = self.steps - earlier.steps, self.updates - earlier.updates
        return steps / secs, updates / secs


class ProgramSpeed:
    """Watches counts grow, from the first agent step of the run. For one thread.

    Where the run goes on, the time before counts, and the time between does not.
    """

    def __init__(self, *, wall_secs: float | None) -> None:
        """Starts the clock, or lets it go on.

        Args:
            wall_secs: Seconds that the run had taken. None: it is a new run.
        """
        self._wall_secs_before = wall_secs
        self._first = _Moment(0.0, 0, 0)  # Before the first step of the run.
        self._last = self._first  # When steps were last seen to grow.
        self._recent: collections.deque[_Moment] = collections.deque()

    def note(
        self, secs: float, statistics: core.StoreStatistics, *, is_starting: bool
    ) -> None:
        """Notes how far the program is now.

        Args:
            secs: Now, since any moment.
            statistics: The counts.
            is_starting: Whether the first step of this program is still to come.
        """
        now = _Moment(secs, statistics.steps, statistics.updates)
        if not self._recent or is_starting:
            self._first = self._last = now
            if self._wall_secs_before is not None:
                self._first = _Moment(secs - self._wall_secs_before, 0, 0)
        elif now.steps > self._last.steps:
            self._last = now
        self._recent.append(now)
        # One from before the window stays: a round may take longer than that.
        window_start_secs = secs - _RATE_WINDOW_SECS
        while len(self._recent) > 1 and self._recent[1].secs <= window_start_secs:
            self._recent.popleft()

    @property
    def wall_secs(self) -> float:
        """Seconds from the first agent step of the run until now."""
        return self._recent[-1].secs - self._first.secs

    def recent_rates(self) -> tuple[float, float]:
        """Returns steps and updates per second, of the last seconds."""
        return self._recent[-1].rates_since(self._recent[0])

    def overall_rates(self) -> tuple[float, float]:
        """Returns them from the first step to the last: not in the last evaluation."""
        return self._last.rates_since(self._first)
