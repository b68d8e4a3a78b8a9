"""What the rows of all workers come to: counts that never fall, and what is now.

A worker that starts again may count from less than it had said: what it had counted
stays. A coordinator that starts again reads the same files, and comes to the same.
"""

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from rlcomponents.runs import metrics, run_folder

_RECENT_EPISODES = 100
_COUNTS = ("episodes", "discarded_outlier", "discarded_lost", "discarded_nonfinite")
_NOW = ("replay_items", "waiting")


class WorkerTotals:
    """Adds up the rows in a run folder. For one thread."""

    def __init__(
        self, folder: run_folder.RunFolder, earlier: Mapping[str, Any]
    ) -> None:
        """Reads what workers have written already.

        Args:
            folder: The run's.
            earlier: The last row of the whole program, if the run goes on: the counts
                are not below those.
        """
        self._own_name = folder.program_csv.stem
        self._reader = metrics.MetricsReader(folder.metrics)
        self._rows: dict[str, metrics.Row] = {}
        self._counts: collections.Counter[str] = collections.Counter()
        # Mean return and number of the games in one row of a worker.
        self._returns: collections.deque[tuple[float, int]] = collections.deque()
        self._take(self._read())
        for row in self._rows.values():  # Of workers that may be there no more.
            row.update(dict.fromkeys(_NOW))
        self._is_working = False
        for column in _COUNTS:
            before = int(metrics.number(earlier, column))
            self._counts[column] = max(self._counts[column], before)

    def read_new(self) -> list[tuple[str, metrics.Row]]:
        """Takes in the rows that are new; returns them with their nodes."""
        rows = self._read()
        self._take(rows)
        self._is_working |= bool(rows)
        return rows

    def count(self, column: str) -> int:
        """Returns a count over all workers and all their lives."""
        return self._counts[column]

    @property
    def replay_items(self) -> int:
        """Transitions in all replays, as far as workers have said."""
        return int(sum(metrics.number(r, "replay_items") for r in self._rows.values()))

    @property
    def recent_return(self) -> float | None:
        """Mean raw return of the last games of all workers; None before any."""
        num_returns = sum(number for _, number in self._returns)
        if not num_returns:
            return None
        return sum(mean * number for mean, number in self._returns) / num_returns

    @property
    def waiting(self) -> str | None:
        """What workers wait for, in words; None where none does."""
        if not self._is_working:
            return "workers are starting"
        reasons = [
            f"{name}: {row['waiting']}"
            for name, row in sorted(self._rows.items())
            if row.get("waiting")
        ]
        if len(reasons) > 1:
            return f"{reasons[0]} (and {len(reasons) - 1} more)"
        return reasons[0] if reasons else None

    def _read(self) -> list[tuple[str, metrics.Row]]:
        rows = self._reader.read_new()
        # In the order of time, not of names, so that recent games are the last.
        return sorted(
            ((name, row) for name, row in rows if name != self._own_name),
            key=lambda named: metrics.number(named[1], "time_secs"),
        )

    def _take(self, rows: Iterable[tuple[str, metrics.Row]]) -> None:
        for name, row in rows:
            previous = self._rows.get(name, {})
            for column in _COUNTS:
                grown = metrics.number(row, column) - metrics.number(previous, column)
                self._counts[column] += max(0, int(grown))
                if column == "episodes":
                    self._take_returns(row, int(grown))
            self._rows[name] = row
        surplus = sum(count for _, count in self._returns) - _RECENT_EPISODES
        while self._returns and surplus >= self._returns[0][1]:
            surplus -= self._returns.popleft()[1]

    def _take_returns(self, row: metrics.Row, num_ended: int) -> None:
        mean = row.get("episode_return")
        if isinstance(mean, float):
            # Where the count fell, nobody knows how many games the mean is of.
            self._returns.append((mean, max(1, num_ended)))
