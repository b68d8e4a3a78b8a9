"""A program of processes that runs only while it is measured.

It is started once, warmed up and stopped (SIGSTOP to all its processes), and goes on
when it is its turn. What it gets done, its workers say in CSV files: `time_secs`,
`agent_steps`, `updates`, as the workers of a run do about once a second.
"""

import contextlib
import os
import pathlib
import shlex
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

import psutil

from rlcomponents.runs import metrics

ROOT = pathlib.Path(__file__).parents[1]

_WARM_ROWS = 3
_START_TIMEOUT_SECS = 300.0
_POLL_SECS = 0.1


class Rates(NamedTuple):
    """What a program got done in a round.

    Attributes:
        steps_per_sec: Agent steps, of all workers together.
        updates_per_sec: Gradients.
        steps_per_cpu_sec: Agent steps for each second that all its processes computed:
            what is left to compare on a machine that others use as well.
    """

    steps_per_sec: float
    updates_per_sec: float
    steps_per_cpu_sec: float


class _Row(NamedTuple):
    time_secs: float
    agent_steps: float
    updates: float


class Contender:
    """A program of processes that run only while they are measured."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: pathlib.Path,
        rows: str,
        *,
        min_updates: int = 0,
    ) -> None:
        """Stores what to start.

        Args:
            name: For messages.
            command: Starts the program.
            folder: Its output goes there.
            rows: Pattern of its workers' CSV files, in `folder`.
            min_updates: Updates of each worker before which it is not warm yet.
        """
        self.name = name
        self.folder = folder
        self._command = command
        self._rows = rows
        self._min_updates = min_updates
        self._process: psutil.Popen | None = None

    @property
    def log(self) -> pathlib.Path:
        """What the program printed."""
        return self.folder / "output.log"

    def start(self, num_workers: int) -> None:
        """Starts the program, waits until it is warm, and stops it there.

        Args:
            num_workers: How many of them write rows.

        Raises:
            RuntimeError: It ended, or was not warm in time.
        """
        self.folder.mkdir(parents=True)
        with self.log.open("wb") as log:
            self._process = psutil.Popen(
                self._command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            )
        give_up_secs = time.monotonic() + _START_TIMEOUT_SECS
        while not self._is_warm(num_workers):
            if self._process.poll() is not None or time.monotonic() > give_up_secs:
                raise RuntimeError(
                    f"{self.name} did not come to work ({shlex.join(self._command)}): "
                    f"{self.log.read_text()[-2_000:]}"
                )
            time.sleep(_POLL_SECS)
        self.pause()

    def pause(self) -> None:
        """Stops all its processes where they are."""
        stopped: set[int] = set()
        while new := [p for p in self.processes() if p.pid not in stopped]:
            for process in new:  # Parents first: they start no more children then.
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()
                stopped.add(process.pid)

    def resume(self) -> None:
        """Lets all its processes go on."""
        for process in reversed(self.processes()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def measure(self, secs: float) -> Rates:
        """Lets it run for so long; returns what it got done meanwhile."""
        cpu_secs, start_secs = self._cpu_secs(), time.time()
        self.resume()
        time.sleep(secs)
        self.pause()
        end_secs = time.time()
        cpu_secs = self._cpu_secs() - cpu_secs
        steps = updates = 0.0
        for rows in self._read().values():
            inside = [row for row in rows if start_secs <= row.time_secs <= end_secs]
            if len(inside) < 2:
                raise RuntimeError(
                    f"{self.name} said {len(inside)} times how far it was in {secs} s: "
                    "measure for longer."
                )
            taken_secs = inside[-1].time_secs - inside[0].time_secs
            steps += (inside[-1].agent_steps - inside[0].agent_steps) / taken_secs
            updates += (inside[-1].updates - inside[0].updates) / taken_secs
        return Rates(steps, updates, steps * (end_secs - start_secs) / cpu_secs)

    def end(self) -> None:
        """Kills all its processes."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process is not None:
            self._process.wait()

    def processes(self) -> list[psutil.Process]:
        """Returns those that it has now, the one that was started first."""
        if self._process is None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            return [self._process, *self._process.children(recursive=True)]
        return []

    def _is_warm(self, num_workers: int) -> bool:
        workers = self._read().values()
        return len(workers) == num_workers and all(
            len(rows) >= _WARM_ROWS and rows[-1].updates >= self._min_updates
            for rows in workers
        )

    def _read(self) -> dict[str, list[_Row]]:
        return {
            path.name: [
                _Row(*(metrics.number(row, column) for column in _Row._fields))
                for row in metrics.MetricsFile(path).read_new()
            ]
            for path in self.folder.glob(self._rows)
        }

    def _cpu_secs(self) -> float:
        total = 0.0
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total
