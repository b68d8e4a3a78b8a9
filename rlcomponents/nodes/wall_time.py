"""How long a run has taken, which all nodes count from one moment: the coordinator's.

That is the coordinator's last look before the run was seen to take its first step, a
round of the coordinator's before that step at most; its first look, where a run had
begun before. Where a run goes on, the time before counts and the time between does not.
"""

import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from rlcomponents.runs import metrics


class WallTime:
    """Tells wall time as the coordinator counts it, from its rows. For one thread.

    Until the coordinator has written a row, the run has not gone on for what anybody
    knows, and its time stands still.
    """

    def __init__(
        self,
        program_csv: pathlib.Path,
        *,
        secs_since: Callable[[float], float],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Reads how long the run had taken.

        Args:
            program_csv: Rows of the whole program.
            secs_since: See `secs_until_now`.
            now: Returns the time on the clock of the rows' `time_secs`.
        """
        self._now = now
        self._rows = metrics.MetricsFile(program_csv)
        self._secs_before = secs_until_now(self._rows.read_newest() or {}, secs_since)
        self._newest: metrics.Row | None = None  # Of those that have come since.

    def __call__(self) -> float:
        """Returns the seconds that the run has taken by now."""
        self._newest = self._rows.read_newest() or self._newest
        if self._newest is None:
            return self._secs_before
        age_secs = self._now() - metrics.number(self._newest, "time_secs")
        return metrics.number(self._newest, "wall_secs") + max(0.0, age_secs)


def secs_until_now(
    earlier: Mapping[str, Any], secs_since: Callable[[float], float]
) -> float:
    """Returns the seconds that a run had taken when a node starts.

    Args:
        earlier: The last row of the whole program; empty where there is none.
        secs_since: Returns the seconds that the run has gone on since a moment of
            `time.time`, while this node was not there; 0 where the run stood still.
    """
    if not earlier:
        return 0.0
    before = metrics.number(earlier, "wall_secs")
    return before + secs_since(metrics.number(earlier, "time_secs"))
