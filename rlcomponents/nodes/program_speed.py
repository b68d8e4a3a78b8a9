"""Speed of a program: now, and over the whole run."""

from rlcomponents import core
from rlcomponents.runs import rates

_RATE_WINDOW_SECS = 10.0


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
        self._first = rates.Moment(0.0, (0, 0))  # Before the first step of the run.
        self._last = self._first  # When steps were last seen to grow.
        self._now: rates.Moment | None = None
        self._recent = rates.Window(_RATE_WINDOW_SECS)

    def note(
        self, secs: float, statistics: core.StoreStatistics, *, is_starting: bool
    ) -> None:
        """Notes how far the program is now.

        Args:
            secs: Now, since any moment.
            statistics: The counts.
            is_starting: Whether the first step of this program is still to come.
        """
        now = rates.Moment(secs, (statistics.steps, statistics.updates))
        if self._now is None or is_starting:
            self._first = self._last = now
            if self._wall_secs_before is not None:
                self._first = rates.Moment(secs - self._wall_secs_before, (0, 0))
        elif now.counts[0] > self._last.counts[0]:
            self._last = now
        self._now = now
        self._recent.add(now)

    @property
    def wall_secs(self) -> float:
        """Seconds that the run has taken; `wall_time` says from when."""
        assert self._now is not None
        return self._now.secs - self._first.secs

    def recent_rates(self) -> tuple[float, ...]:
        """Returns steps and updates per second, of the last seconds."""
        return self._recent.rates()

    def overall_rates(self) -> tuple[float, ...]:
        """Returns them from the first step to the last: not in the last evaluation."""
        return self._last.rates_since(self._first)
