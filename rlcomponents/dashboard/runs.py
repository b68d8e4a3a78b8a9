"""What the page shows of one run: how it is, its totals, its graph and its nodes.

A run may not have begun, go on, have ended, be half-written or be gone: whatever cannot
be read becomes a sentence on the page.
"""

import collections
import contextlib
import csv
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rlcomponents.dashboard import curves, logs
from rlcomponents.runs import metrics, node_table, readable, run_folder, summary

DONE = "done"
"""How a run is that has ended; else it is as nodes are."""

_ALIVE = ("starting", "running")
_READ_ERRORS = (OSError, ValueError, TypeError, csv.Error)
_LIVE_SECS = 10.0  # The table of nodes is rewritten about once a second.
_RATES = (
    "steps_per_sec",
    "agent_steps_per_sec",
    "updates_per_sec",
    "inserts_per_sec",
    "samples_per_sec",
)
_COUNTS = ("agent_steps", "updates", "discarded", "staleness_updates")
_FILL = ("replay_items", "replay_capacity_items")
_USAGE = ("cpu_fraction", "memory_bytes")
_TOTALS = (
    "wall_secs",
    "agent_steps",
    "environment_frames",
    "updates",
    "episodes",
    "train_return",
    "mean_staleness_updates",
    "replay_items",
    "replay_capacity_items",
    "steps_per_sec",
    "frames_per_sec",
    "updates_per_sec",
    "waiting",
)


class WatchedRun:
    """One run. For one thread.

    Attributes:
        name: What the page calls it.
        folder: Its folder.
    """

    def __init__(
        self,
        path: pathlib.Path,
        name: str,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Reads nothing yet.

        Args:
            path: Its folder.
            name: What the page calls it.
            clock: Returns seconds as file times do.
        """
        self.name = name
        self.folder = run_folder.RunFolder(path)
        self._clock = clock
        self._curves = curves.RunCurves(self.folder)

    def overview(self) -> dict[str, Any]:
        """Returns what is shown of every run: its name, what it is, how it is."""
        with contextlib.suppress(*_READ_ERRORS):
            config = self.folder.read_config()
            about = {key: config.get(key) for key in ("agent", "environment", "seed")}
            return {"name": self.name, **about, **self._status()}
        return {"name": self.name, **self._status()}

    def details(self) -> dict[str, Any]:
        """Returns what is shown of the one run that is looked at.

        `problems` are the sentences about what could not be read.
        """
        problems: list[str] = []
        shown: dict[str, Any] = {"problems": problems, "nodes": [], "groups": []}
        if not self.folder.path.is_dir():
            problems.append(
                f"The folder {self.folder.path} is gone: it was moved or deleted."
            )
            return shown
        with _told(problems, "The settings"):
            shown["max_steps"] = self.folder.read_config().get("max_steps")
        with _told(problems, "The program's numbers"):
            shown["totals"] = _totals(self._curves.program.read())
        with _told(problems, "The evaluations"):
            evaluations = self._curves.evaluations.read()
            shown["evaluation"] = evaluations[-1] if evaluations else None
        with _told(problems, "The logs"):
            shown["logs"] = logs.names(self.folder.logs)
        with _told(problems, "The table of nodes"):
            rows = node_table.read(self.folder.nodes_json)
            shown.update(_nodes(rows, self._is_live(rows), shown.get("logs", [])))
        return shown

    def curve(self, of: str, over: str, version: str | None) -> dict[str, Any]:
        """Returns its learning curve: the points, or that they are as before.

        Args:
            of: One of `curves.SOURCES`.
            over: One of `rlcomponents.runs.curves.AXES`.
            version: Of what the page has of this very curve. None: nothing.
        """
        problems: list[str] = []
        with _told(problems, "The curve"):
            newest = self._curves.version(of)
            if newest == version:
                return {"version": version}
            return {"version": newest, "points": self._curves.points(of, over)}
        return {"version": None, "points": [], "problem": problems[0]}

    def log(self, name: str, offset_bytes: int | None) -> dict[str, Any]:
        """Returns what is new in a log; see `logs.tail`."""
        problems: list[str] = []
        with _told(problems, "The log"):
            return logs.tail(self.folder.logs, name, offset_bytes)._asdict()
        return {"problem": problems[0]}

    def _status(self) -> dict[str, str]:
        """Returns `status` in words and their `level`."""
        words, level = self._judge()
        return {"status": words, "level": level}

    def _judge(self) -> tuple[str, str]:
        if not self.folder.path.is_dir():
            return "is gone", node_table.BAD
        try:
            rows = node_table.read(self.folder.nodes_json)
            reason = _reason(self.folder.summary_json)
        except _READ_ERRORS:
            return "cannot be read", node_table.BAD
        if self._is_live(rows):
            is_starting = all(row.state == "starting" for row in rows)
            return "starting" if is_starting else "running", node_table.GOOD
        if reason is not None and reason != "running":
            is_bad = "died" in reason
            return f"ended: {reason}", node_table.BAD if is_bad else DONE
        if not rows and reason is None:
            return "has not begun", node_table.BUSY
        return f"broke off{self._since()}", node_table.BAD

    def _is_live(self, rows: Sequence[node_table.NodeRow]) -> bool:
        """Whether the launcher still writes the table, and of nodes that live."""
        age_secs = self._table_age_secs()
        is_fresh = age_secs is not None and age_secs < _LIVE_SECS
        return is_fresh and any(row.state in _ALIVE for row in rows)

    def _since(self) -> str:
        age_secs = self._table_age_secs()
        return "" if age_secs is None else f", {readable.duration(age_secs)} ago"

    def _table_age_secs(self) -> float | None:
        try:
            return self._clock() - self.folder.nodes_json.stat().st_mtime
        except OSError:
            return None


def _reason(path: pathlib.Path) -> str | None:
    """Returns why a run ended, or "running"; None where there is no summary yet."""
    try:
        return summary.read(path).reason
    except FileNotFoundError:
        return None


def _totals(rows: Sequence[metrics.Row]) -> dict[str, Any] | None:
    if not rows:
        return None
    last = rows[-1]
    discarded = [name for name in last if name.startswith("discarded_")]
    return {
        **{name: last.get(name) for name in _TOTALS},
        "discarded": sum(metrics.number(last, name) for name in discarded),
    }


def _nodes(
    rows: Sequence[node_table.NodeRow], is_live: bool, log_names: Sequence[str]
) -> dict[str, Any]:
    """Returns the nodes, their groups, and what they use where they are threads."""
    are_threads = node_table.are_threads(rows)
    columns = [*_COUNTS, *_FILL]
    if is_live:
        columns += _RATES if are_threads else [*_RATES, *_USAGE]
    members = collections.defaultdict(list)
    for row in rows:
        members[row.group].append(row)
    shown: dict[str, Any] = {
        "nodes": [_node(row, is_live, columns, log_names) for row in rows],
        "groups": [_group(group, is_live, columns) for group in members.values()],
    }
    if is_live and are_threads:
        running = next(row for row in rows if row.pid is not None)
        shown["process"] = {name: getattr(running, name) for name in _USAGE}
    return shown


def _node(
    row: node_table.NodeRow,
    is_live: bool,
    columns: Sequence[str],
    log_names: Sequence[str],
) -> dict[str, Any]:
    words, level = _condition(row, is_live)
    log = pathlib.PurePath(row.log_path).stem
    return {
        "name": row.name,
        "pid": row.pid if is_live else None,
        "words": words,
        "level": level,
        "log": log if log in log_names else None,
        **_known({name: getattr(row, name) for name in columns}),
    }


def _group(
    rows: Sequence[node_table.NodeRow], is_live: bool, columns: Sequence[str]
) -> dict[str, Any]:
    """Returns what nodes of one group do together."""
    numbers = {name: node_table.total_of_work(rows, name) for name in columns}
    for name in (*_USAGE, *_FILL):
        if name in numbers:
            numbers[name] = node_table.total(rows, name)
    numbers["staleness_updates"] = node_table.mean(rows, "staleness_updates")
    called = [name.rpartition("/")[0] for row in rows for name in row.calls]
    return {
        "name": rows[0].group,
        "calls": list(dict.fromkeys(called)),  # Each once, in order.
        "levels": [_condition(row, is_live).level for row in rows],
        **_known(numbers),
    }


def _known(numbers: Mapping[str, float | None]) -> dict[str, float]:
    """Returns what is counted; most nodes count little of all there is."""
    return {name: value for name, value in numbers.items() if value is not None}


def _condition(row: node_table.NodeRow, is_live: bool) -> node_table.Condition:
    if is_live:
        return node_table.condition(row)
    if row.state in _ALIVE:  # Whoever wrote that is gone.
        return node_table.Condition(f"was {row.state}", node_table.BAD)
    return node_table.condition(row)._replace(
        level=node_table.BAD if row.state == "died" else DONE
    )


@contextlib.contextmanager
def _told(problems: list[str], what: str) -> Iterator[None]:
    """Adds a sentence where something cannot be read."""
    try:
        yield
    except _READ_ERRORS as error:
        is_ours = isinstance(error, ValueError) and not isinstance(error, UnicodeError)
        problems.append(str(error) if is_ours else f"{what} cannot be read: {error}.")
