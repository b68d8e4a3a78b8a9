"""Tells others how the nodes of a running program are: nodes.json in the run folder."""

import os
import pathlib
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rlcomponents.launching import watched
from rlcomponents.runs import disk, node_table, rates

_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_WINDOW_SECS = 10.0  # Rates are of the last so many seconds.
_RATES = {
    "agent_steps": "agent_steps_per_sec",
    "updates": "updates_per_sec",
    "inserted_items": "inserts_per_sec",
    "sampled_items": "samples_per_sec",
}
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
        calls: Mapping[str, Sequence[str]] = types.MappingProxyType({}),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: The file.
            nodes: All of the program's; the list may grow.
            hosts: Addresses of their own of those that have some, by name.
            calls: The nodes that each calls, by name.
            clock: Returns seconds as those in `watched.Signs`.
        """
        self._path = path
        self._nodes = nodes
        self._hosts = hosts
        self._calls = calls
        self._clock = clock
        # Who writes the run's results into the same folder says that it is full.
        self._disk = disk.Disk(lambda line: None)
        # By name; each of the present start, and of the counts that the node has.
        self._windows: dict[str, tuple[tuple[int, list[str]], rates.Window]] = {}

    def write(self) -> None:
        """Replaces the table. A full disk is no reason to end."""
        now_secs = self._clock()
        rows = [self._row(node, now_secs) for node in self._nodes]
        with self._disk.survived(str(self._path)):
            node_table.write(self._path, rows)

    def _row(self, node: watched.Node, now_secs: float) -> node_table.NodeRow:
        pid = None if node.ended else node.pid
        usage = usage_of(pid) if pid is not None else Usage(0.0, 0)
        shown = {name: node.signs.numbers.get(name) for name in node_table.SHOWN}
        counts = {name: shown[name] or 0 for name in _RATES if shown[name] is not None}
        kind = node.starts, list(counts)
        if node.name not in self._windows or self._windows[node.name][0] != kind:
            self._windows[node.name] = kind, rates.Window(_WINDOW_SECS)
        window = self._windows[node.name][1]
        work = (node.signs.steps, usage.cpu_secs, *counts.values())
        window.add(rates.Moment(now_secs, work))
        # Less than before: a node has ended, or went back to a state that it had saved.
        steps_per_sec, cpu_fraction, *speeds = (max(0.0, r) for r in window.rates())
        rate_names = (_RATES[name] for name in counts)
        measured = dict(zip(rate_names, speeds, strict=True))
        waits = node.signs.waiting_for is not None
        return node_table.NodeRow(
            name=node.name,
            state=_state(node),
            log_path=str(node.log_path),
            pid=pid,
            starts=max(0, node.starts),
            steps=node.signs.steps,
            steps_per_sec=steps_per_sec,
            waiting_for=node.signs.waiting_for,
            waiting_secs=now_secs - node.signs.waiting_since_secs if waits else 0.0,
            silent_secs=max(0.0, now_secs - node.signs.seen_secs),
            cpu_fraction=cpu_fraction,
            memory_bytes=usage.memory_bytes,
            host=self._hosts.get(node.name),
            calls=tuple(self._calls.get(node.name, ())),
            **shown,
            **(measured if not node.ended else {}),
        )


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
        return "starting" if node.signs.is_starting else "running"
    return "died" if node.failure is not None else "ended"
