"""What a run costs: seconds of CPU and memory, of all its processes together.

Reference:
    proc(5), smaps_rollup: PSS counts 1/n of what n processes share for each of them, so
    that processes add up to what the program takes.
"""

import contextlib
import pathlib
import resource
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import psutil

from launch import suite
from rlcomponents.runs import metrics, run_folder

FILE = "costs.csv"
"""Name in the folder of a run; a row for each time that it was started."""

COLUMNS = ("wall_secs", "cpu_secs", "peak_memory_bytes")
"""Of the file. From the start of the first process to the end of the last."""

_PERIOD_SECS = 5.0  # Looking takes milliseconds of CPU a process.


class Costs(NamedTuple):
    """What a run has cost so far.

    Attributes:
        cpu_secs: Of all processes, their start and the evaluations included.
        peak_memory_bytes: PSS of all processes together, where it was highest.
    """

    cpu_secs: float
    peak_memory_bytes: float


class MeasuringRunner(suite.ProcessRunner):
    """Runs commands as `suite.ProcessRunner`, and leaves what each cost in its run.

    A run that goes on after it was not measured is not measured either.
    """

    def run(self, command: Sequence[str]) -> int:
        """See `suite.Runner`."""
        path = _run_path(command)
        is_new = not path.exists()
        file = path / FILE
        start_secs, cpu_secs = time.monotonic(), _cpu_secs()
        with _watching_memory() as peaks:
            exit_code = super().run(command)
        if path.exists() and (is_new or file.exists()):
            writer = metrics.MetricsWriter(file, COLUMNS)
            writer.write(
                {
                    "wall_secs": time.monotonic() - start_secs,
                    "cpu_secs": _cpu_secs() - cpu_secs,
                    "peak_memory_bytes": max(peaks, default=0),
                }
            )
            writer.close()
        return exit_code


def read(path: pathlib.Path) -> Costs | None:
    """Returns what a run has cost; None where it was not measured.

    Args:
        path: Folder of the run.
    """
    rows = metrics.MetricsFile(path / FILE).read_new()
    if not rows:
        return None
    return Costs(
        sum(metrics.number(row, "cpu_secs") for row in rows),
        max(metrics.number(row, "peak_memory_bytes") for row in rows),
    )


def memory_bytes(processes: Sequence[psutil.Process]) -> int:
    """Returns the PSS of processes together; those that have ended have none."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


def _run_path(command: Sequence[str]) -> pathlib.Path:
    flags = dict(word.partition("=")[::2] for word in command)
    path = flags.get("--run_dir") or flags["--resume"]
    return run_folder.RunFolder(path).path


def _cpu_secs() -> float:
    """Returns what all processes used that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def _watching_memory() -> Iterator[list[int]]:
    """Gives a list that memory, now and then, is appended to meanwhile."""
    peaks: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_PERIOD_SECS):
            peaks.append(memory_bytes(psutil.Process().children(recursive=True)))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()
