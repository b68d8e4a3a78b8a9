"""Does harm to a running program, on purpose and on a schedule.

    harm = faults.Faults(run_dir)
    pid = harm.kill("bundle/1")
    harm.wait_for_process("bundle/1", other_than=pid)

From a terminal: `launch/harm.py`.

Nodes are found through the run folder, so this works on any program that our launcher
runs in processes (`local_mp`) on this machine, from any process of the same user.
"""

import contextlib
import errno
import os
import pathlib
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rlcomponents.runs import node_table, run_folder
from rlcomponents.testing import links, mounts

_SLICE_SECS = 0.1  # A slowed node runs for a part of each.
_MAX_FILL_BYTES = 2 << 30  # Disks with more room than this are not filled.


class Faults:
    """Does harm to the nodes of one run, by their names."""

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        """Names the run; its program is running, or will be."""
        self._folder = run_folder.RunFolder(pathlib.Path(run_dir))

    def pid(self, node: str) -> int:
        """Returns the process of a node, as of the last second.

        Raises:
            ValueError: No such node, or it has no process of its own now.
        """
        return _pid(self._row(node))

    def wait_for_process(
        self, node: str, *, other_than: int | None = None, timeout_secs: float = 60.0
    ) -> int:
        """Waits until a node has a process, such as the one after its death.

        Args:
            node: Its name.
            other_than: A process that does not count.
            timeout_secs: Longest wait.

        Raises:
            TimeoutError: It has none by then.
        """
        deadline_secs = time.monotonic() + timeout_secs
        while time.monotonic() < deadline_secs:
            with contextlib.suppress(ValueError):  # Not there yet.
                pid = self.pid(node)
                if pid != other_than:
                    return pid
            time.sleep(0.1)  # A file changes: there is no event to wait for.
        raise TimeoutError(f"{node} had no process after {timeout_secs:g} s.")

    def kill(self, node: str) -> int:
        """Ends a node's process by SIGKILL; returns the process id it had."""
        pid = self.pid(node)
        os.kill(pid, signal.SIGKILL)
        return pid

    @contextlib.contextmanager
    def stopped(self, node: str) -> Iterator[None]:
        """Lets a node do nothing (SIGSTOP) inside the block."""
        pid = self.pid(node)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def slow(self, node: str, *, running_fraction: float, secs: float) -> None:
        """Lets a node run for a part of the time only.

        Args:
            node: Its name.
            running_fraction: Of each tenth of a second, in (0, 1).
            secs: For how long.

        Raises:
            ValueError: The fraction is none, or see `pid`.
        """
        if not 0.0 < running_fraction < 1.0:
            raise ValueError(
                f"running_fraction is {running_fraction}: give a number between 0 and "
                "1, such as 0.2."
            )
        pid = self.pid(node)
        end_secs = time.monotonic() + secs
        with contextlib.suppress(ProcessLookupError):  # It has died meanwhile.
            try:
                while time.monotonic() < end_secs:
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep((1.0 - running_fraction) * _SLICE_SECS)
                    os.kill(pid, signal.SIGCONT)
                    time.sleep(running_fraction * _SLICE_SECS)
            finally:
                os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def cut_off(self, node: str) -> Iterator[None]:
        """Lets nobody reach the servers of a node inside the block.

        What is sent to it is dropped without an answer, as by a network that has gone;
        what it asks of others gets through, and their answers do not.

        Raises:
            ValueError: It has no address of its own: it serves nobody, or the program
                has no private network (see docs/security.md).
            OSError: The kernel refuses.
        """
        row = self._row(node)
        if row.host is None:
            raise ValueError(
                f"{node} has no address of its own: links can be cut to nodes with "
                "servers, in programs with a private network (--node_network=private)."
            )
        with links.cut(_pid(row), row.host):
            yield

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leaves no room on the disk of the run folder inside the block.

        Raises:
            ValueError: There is so much room that this could hurt others: put the run
                folder on a small file system, such as a tmpfs.
        """
        free_bytes = shutil.disk_usage(self._folder.path).free
        if free_bytes > _MAX_FILL_BYTES:
            raise ValueError(
                f"The disk of {self._folder.path} has {free_bytes >> 20:,} MiB left: "
                f"only those with less than {_MAX_FILL_BYTES >> 20:,} MiB are filled; "
                "put the run folder on a small tmpfs."
            )
        path = self._folder.path / "filler"
        with path.open("wb", buffering=0) as file:
            try:
                size_bytes = 1 << 20
                while size_bytes:  # Ever smaller pieces, until no byte fits.
                    try:
                        file.write(bytes(size_bytes))
                    except OSError as error:
                        if error.errno != errno.ENOSPC:
                            raise
                        size_bytes //= 2
                yield
            finally:
                path.unlink()

    @contextlib.contextmanager
    def read_only_disk(self) -> Iterator[None]:
        """Lets no file of the run folder be made or replaced inside the block.

        Files that nodes have open, such as logs, are written on.

        Raises:
            ValueError: The program has the machine's mounts, or does not run.
            OSError: The kernel refuses.
        """
        pids = [row.pid for row in self._rows().values() if row.pid is not None]
        if not pids:
            raise ValueError(f"No program runs in {self._folder.path} now.")
        with contextlib.ExitStack() as block:
            try:
                block.enter_context(mounts.read_only(pids[0], self._folder.path))
            except PermissionError as error:
                raise ValueError(
                    f"The disk of {self._folder.path} cannot be made read-only for the "
                    f"program alone ({error.strerror}): start it with mounts of its "
                    "own, `unshare -Urm python launch/...`, and this outside of them."
                ) from error
            yield

    def _rows(self) -> dict[str, node_table.NodeRow]:
        return {row.name: row for row in node_table.read(self._folder.nodes_json)}

    def _row(self, node: str) -> node_table.NodeRow:
        rows = self._rows()
        if node not in rows:
            known = ", ".join(rows) or "none: the program is not running yet"
            raise ValueError(f"There is no node {node!r}; the nodes are {known}.")
        return rows[node]


class Fault(NamedTuple):
    """One entry of a schedule.

    Attributes:
        kind: `kill`, `stop`, `slow`, `cut`, `fill_disk` or `read_only_disk`.
        node: Whom it hits; empty for a disk.
        start_secs: When, from the start of the schedule.
        secs: For how long; 0 for `kill`.
        running_fraction: For `slow`.
    """

    kind: str
    node: str
    start_secs: float
    secs: float
    running_fraction: float


_FAULT = re.compile(
    r"(?P<kind>kill|stop|slow|cut|fill_disk|read_only_disk)(?::(?P<node>[^@]+))?"
    r"@(?P<start>[0-9.]+)(?:\+(?P<secs>[0-9.]+))?(?:x(?P<fraction>[0-9.]+))?"
)


def parse(text: str) -> Fault:
    """Reads one entry of a schedule, such as `slow:actor/0@60+30x0.2`.

    Raises:
        ValueError: It is none.
    """
    match = _FAULT.fullmatch(text)
    if match is not None:
        kind = match["kind"]
        wanted = {
            "node": kind not in ("fill_disk", "read_only_disk"),
            "secs": kind != "kill",
            "fraction": kind == "slow",
        }
        if all(
            (match[part] is not None) == is_wanted for part, is_wanted in wanted.items()
        ):
            return Fault(
                kind,
                match["node"] or "",
                float(match["start"]),
                float(match["secs"] or 0.0),
                float(match["fraction"] or 1.0),
            )
    raise ValueError(
        f"{text!r} is no fault: use kill:NODE@START, stop:NODE@START+SECS, "
        "slow:NODE@START+SECSxFRACTION, cut:NODE@START+SECS, fill_disk@START+SECS or "
        "read_only_disk@START+SECS."
    )


def run_schedule(faults: Faults, schedule: Sequence[Fault]) -> None:
    """Does what a schedule says, each entry at its time, and returns after the last.

    Raises:
        Exception: What the first entry that failed raised, once all are over.
    """
    errors: list[Exception] = []
    begin_secs = time.monotonic()

    def do(fault: Fault) -> None:
        time.sleep(max(0.0, begin_secs + fault.start_secs - time.monotonic()))
        print(f"{fault.start_secs:g} s: {fault.kind} {fault.node}", flush=True)
        try:
            _do(faults, fault)
        except Exception as error:  # Raised in the caller's thread.
            errors.append(error)

    threads = [threading.Thread(target=do, args=(fault,)) for fault in schedule]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _do(faults: Faults, fault: Fault) -> None:
    if fault.kind == "kill":
        faults.kill(fault.node)
    elif fault.kind == "slow":
        faults.slow(
            fault.node, running_fraction=fault.running_fraction, secs=fault.secs
        )
    else:
        block = {
            "stop": lambda: faults.stopped(fault.node),
            "cut": lambda: faults.cut_off(fault.node),
            "fill_disk": faults.full_disk,
            "read_only_disk": faults.read_only_disk,
        }[fault.kind]
        with block():
            time.sleep(fault.secs)


def _pid(row: node_table.NodeRow) -> int:
    if row.pid is None or row.pid == os.getpid():
        raise ValueError(
            f"{row.name} has no process of its own now ({row.state}): harm can be done "
            "to nodes of a program launched with local_mp."
        )
    return row.pid
