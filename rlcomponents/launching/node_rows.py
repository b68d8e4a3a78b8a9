"""Tells others how the nodes of a running program are: nodes.json in the run folder."""

import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rlcomponents.launching import watched
from rlcomponents.runs import disk, node_table

_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_WINDOW_SECS = 5.0  # Rates are of the last so many seconds.
_USER_TICKS, _SYSTEM_TICKS, _RESIDENT_PAGES = 11, 12, 21  # After the name in `stat`.


class Usage(NamedTuple):
    """What a process has used.

    Attributes:
        cpu_secs: Since its start, all threads together.
        memory_bytes: Resident now.
    """

    cpu_secs: float
    memory_bytes: int


class NodeRows:
    """Writes the table of one program's nodes. For one thread."""

    def __init__(
        self,
        path: pathlib.Path,
        nodes: Sequence[watched.Node],
        hosts: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: The file.
            nodes: All of the program's; the list may grow.
            hosts: Addresses of their own of those that have some, by name.
            clock: Returns seconds as those in `watched.Signs`.
        """
        self._path = path
        self._nodes = nodes
        self._hosts = hosts
        self._clock = clock
        # Who writes the run's results into the same folder says that it is full.
        self._disk = disk.Disk(lambda line: None)
        self._history: dict[str, list[_Moment]] = {}

    def write(self) -> None:
        """Replaces the table. A full disk is no reason to end."""
        now_secs = self._clock()
        rows = [self._row(node, now_secs) for node in self._nodes]
        with self._disk.survived(str(self._path)):
            node_table.write(self._path, rows)

    def _row(self, node: watched.Node, now_secs: float) -> node_table.NodeRow:
        pid = None if node.ended else node.pid
        usage = usage_of(pid) if pid is not None else Usage(0.0, 0)
        moment = _Moment(now_secs, node.starts, node.signs.steps, usage.cpu_secs)
        history = self._history.setdefault(node.name, [])
        if history and history[-1].starts != node.starts:
            history.clear()
        history.append(moment)
        # One from before the window stays.
        while len(history) > 1 and history[1].secs <= now_secs - _WINDOW_SECS:
            history.pop(0)
        secs = moment.secs - history[0].secs
        waits = node.signs.waiting_for is not None
        return node_table.NodeRow(
            name=node.name,
            state=_state(node),
            log_path=str(node.log_path),
            pid=pid,
            starts=max(0, node.starts),
            steps=node.signs.steps,
            steps_per_sec=(moment.steps - history[0].steps) / secs if secs else 0.0,
            waiting_for=node.signs.waiting_for,
            waiting_secs=now_secs - node.signs.waiting_since_secs if waits else 0.0,
            silent_secs=max(0.0, now_secs - node.signs.seen_secs),
            cpu_fraction=(
                (moment.cpu_secs - history[0].cpu_secs) / secs if secs else 0.0
            ),
            memory_bytes=usage.memory_bytes,
            host=self._hosts.get(node.name),
        )


class _Moment(NamedTuple):
    secs: float
    starts: int
    steps: int
    cpu_secs: float


def usage_of(pid: int) -> Usage:
    """Returns what a process has used; zeros once it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return Usage(0.0, 0)
    fields = text.rpartition(")")[2].split()
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    return Usage(ticks / _TICKS_PER_SEC, int(fields[_RESIDENT_PAGES]) * _PAGE_BYTES)


def _state(node: watched.Node) -> str:
    if not node.ended:
        return "running"
    return "died" if node.failure is not None else "ended"
