"""What the rows of all workers come to: counts that never fall, and what is now.

A worker that starts again may count from less than it had said: what it had counted
stays. A coordinator that starts again reads the same files, and comes to the same.
"""

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

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
        self._games = _RecentGames()
        self._take_earlier()
        for row in self._rows.values():  # Of workers that may be there no more.
            row.update(dict.fromkeys(_NOW))
        self._is_working = False
        for column in _COUNTS:
            before = int(metrics.number(earlier, column))
            self._counts[column] = max(self._counts[column], before)

    def read_new(self) -> list[tuple[str, metrics.Row]]:
        """Takes in the rows that are new; returns them with their nodes."""
        rows = [named for named in self._reader.read_new() if self._is_worker(named[0])]
        # In the order of time, not of names, so that recent games are the last.
        rows.sort(key=lambda named: metrics.number(named[1], "time_secs"))
        for name, row in rows:
            self._take(name, row, self._games)
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
        return self._games.mean_return

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

    def _is_worker(self, name: str) -> bool:
        return name != self._own_name

    def _take_earlier(self) -> None:
        """Takes in the rows of days, of which no more is held than the games kept."""
        games: dict[str, _RecentGames] = collections.defaultdict(_RecentGames)
        for name, row in self._reader.stream_new():
            if self._is_worker(name):
                self._take(name, row, games[name])
        # Files came one after the other, and the recent games are the last of all.
        found = [each for recent in games.values() for each in recent.games]
        for each in sorted(found, key=lambda each: each.time_secs):
            self._games.add(each)

    def _take(self, name: str, row: metrics.Row, games: "_RecentGames") -> None:
        previous = self._rows.get(name, {})
        grown = {
            column: int(metrics.number(row, column) - metrics.number(previous, column))
            for column in _COUNTS
        }
        for column, number in grown.items():
            self._counts[column] += max(0, number)
        mean = row.get("episode_return")
        if isinstance(mean, float):
            # Where the count fell, nobody knows how many games the mean is of.
            number = max(1, grown["episodes"])
            games.add(_Games(metrics.number(row, "time_secs"), mean, number))
        self._rows[name] = row


class _Games(NamedTuple):
    """The games that one row of a worker tells of."""

    time_secs: float
    mean_return: float
    number: int


class _RecentGames:
    """The last `_RECENT_EPISODES` games, and what fills up the row of the first."""

    def __init__(self) -> None:
        self.games: collections.deque[_Games] = collections.deque()
        self._number = 0

    def add(self, games: _Games) -> None:
        """Takes in games, and drops the oldest that are recent no more."""
        self.games.append(games)
        self._number += games.number
        while self._number - self.games[0].number >= _RECENT_EPISODES:
            self._number -= self.games.popleft().number

    @property
    def mean_return(self) -> float | None:
        """Mean over the games; None before any."""
        if not self.games:
            return None
        return sum(each.mean_return * each.number for each in self.games) / self._number
