"""Whole programs, measured in turns: each runs only while it is its turn.

Starting a program costs ten times what a round does. So each is started once, warmed
up and stopped (SIGSTOP to all its processes); a round lets it go on for some seconds.
What it gets done, its workers say in CSV files: `time_secs`, `agent_steps`, `updates`,
as the workers of a run do about once a second.
"""

import contextlib
import csv
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import psutil

ROOT = pathlib.Path(__file__).parents[1]
PEERS_PYTHON = ROOT / ".venv-peers/bin/python"
PEERS = str(pathlib.Path(__file__).with_name("peers.py"))

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
        self._command = command
        self._folder = folder
        self._rows = rows
        self._min_updates = min_updates
        self._process: psutil.Popen | None = None

    @property
    def log(self) -> pathlib.Path:
        """What the program printed."""
        return self._folder / "output.log"

    def start(self, num_workers: int) -> None:
        """Starts the program, waits until it is warm, and stops it there.

        Args:
            num_workers: How many of them write rows.

        Raises:
            RuntimeError: It ended, or was not warm in time.
        """
        self._folder.mkdir(parents=True)
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
        while new := [p for p in self._tree() if p.pid not in stopped]:
            for process in new:  # Parents first: they start no more children then.
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()
                stopped.add(process.pid)

    def resume(self) -> None:
        """Lets all its processes go on."""
        for process in reversed(self._tree()):
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
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process is not None:
            self._process.wait()

    def _is_warm(self, num_workers: int) -> bool:
        workers = self._read().values()
        return len(workers) == num_workers and all(
            len(rows) >= _WARM_ROWS and rows[-1].updates >= self._min_updates
            for rows in workers
        )

    def _read(self) -> dict[str, list[_Row]]:
        found = {}
        for path in self._folder.glob(self._rows):
            lines = path.read_text().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            found[path.name] = [
                _Row(*(float(row[column] or 0.0) for column in _Row._fields))
                for row in csv.DictReader(whole)
            ]
        return found

    def _tree(self) -> list[psutil.Process]:
        if self._process is None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            return [self._process, *self._process.children(recursive=True)]
        return []

    def _cpu_secs(self) -> float:
        total = 0.0
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total


class Arena:
    """The contenders of one benchmark. A context manager, which ends them."""

    def __init__(self, *, secs: float) -> None:
        """Makes a folder for what they write.

        Args:
            secs: Of each round of each contender.
        """
        self._secs = secs
        self._contenders: dict[str, Contender] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="rlcomponents-bench-")

    def __enter__(self) -> "Arena":
        """Returns itself."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *exception: object) -> None:
        """Ends all contenders."""
        for contender in self._contenders.values():
            contender.end()
        self._folder.cleanup()

    def add_ours(
        self,
        name: str,
        script: str,
        flags: Mapping[str, object],
        *,
        workers: str,
        num_workers: int,
        min_updates: int = 1,
    ) -> None:
        """Starts a launch script as users do, without its live view.

        Args:
            name: Of the contender.
            script: Such as `launch/a3c.py`.
            flags: Of the script.
            workers: Group of the nodes that act.
            num_workers: How many they are.
            min_updates: Of each of them, before the first round.
        """
        run_dir = self._path(name) / "run"
        command = [sys.executable, script, f"--run_dir={run_dir}", "--quiet"]
        command += [f"--{flag}={value}" for flag, value in flags.items()]
        rows = f"run/metrics/{workers}-*.csv"
        self._start(name, command, rows, num_workers, min_updates)

    def add_program(
        self,
        name: str,
        command: Sequence[str],
        *,
        num_workers: int = 1,
        min_updates: int = 0,
    ) -> None:
        """Starts a command that takes `--rows=FOLDER`; see `peers.py`."""
        rows = self._path(name) / "rows"
        self._start(
            name, [*command, f"--rows={rows}"], "rows/*.csv", num_workers, min_updates
        )

    def round(self) -> Iterator[tuple[str, Rates]]:
        """Measures each contender once."""
        for name, contender in self._contenders.items():
            yield name, contender.measure(self._secs)

    def rounds(self, number: int) -> dict[str, list[Rates]]:
        """Measures each contender once a round; returns the rounds of each."""
        results: dict[str, list[Rates]] = {name: [] for name in self._contenders}
        for _ in range(number):
            for name, rates in self.round():
                results[name].append(rates)
        return results

    def _path(self, name: str) -> pathlib.Path:
        return pathlib.Path(self._folder.name) / name.replace(" ", "_")

    def _start(
        self,
        name: str,
        command: Sequence[str],
        rows: str,
        num_workers: int,
        min_updates: int,
    ) -> None:
        contender = Contender(
            name, command, self._path(name), rows, min_updates=min_updates
        )
        self._contenders[name] = contender
        start = time.monotonic()
        contender.start(num_workers)
        print(f"  ({name} is warm after {time.monotonic() - start:.0f} s)", flush=True)


def peer(what: str, *flags: str) -> list[str]:
    """Returns the command that starts a peer, in its own environment.

    Raises:
        SystemExit: That environment is not there.
    """
    if not PEERS_PYTHON.exists():
        raise SystemExit("The peers are not installed: run 'make bench-peers-env'.")
    return [str(PEERS_PYTHON), PEERS, what, *flags]
