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
from rlcomponents.runs import atomic_files, disk, metrics

FILE = "costs.csv"
"""Name in the folder of a run; a row for each time that it was started, blank until the
end of what was started then."""

COLUMNS = ("wall_secs", "cpu_secs", "peak_memory_bytes")
"""Of the file. From the start of the first process to the end of the last; memory is
blank where that was over before the first look at it."""

_PERIOD_SECS = 5.0  # Looking takes milliseconds of CPU a process.


class Costs(NamedTuple):
    """What a run has cost so far.

    Attributes:
        cpu_secs: Of all processes, their start and the evaluations included.
        peak_memory_bytes: PSS of all processes together, where it was highest. None:
            the run was over before the first look.
    """

    cpu_secs: float
    peak_memory_bytes: float | None


class MeasuringRunner(suite.ProcessRunner):
    """Runs commands as `suite.ProcessRunner`, and leaves what each cost in its run.

    A run that goes on after it was not measured is not measured either; nor is one of
    which a part was not measured to its end, as this process was killed.
    """

    def run(self, command: Sequence[str]) -> int:
        """See `suite.Runner`."""
        path, is_new = _run_path(command)
        if not is_new and read(path) is None:
            return super().run(command)
        file = path / FILE
        before = _HEADER if is_new else file.read_text()
        _write(file, before + _BLANK_ROW)
        start_secs, cpu_secs = time.monotonic(), _cpu_secs()
        with _watching_memory() as peaks:
            exit_code = super().run(command)
        wall_secs, cpu_secs = time.monotonic() - start_secs, _cpu_secs() - cpu_secs
        peak = max(peaks, default=0) or ""
        _write(file, f"{before}{wall_secs},{cpu_secs},{peak}\n")
        return exit_code


def read(path: pathlib.Path) -> Costs | None:
    """Returns what a run has cost; None where it, or a part of it, was not measured.

    Args:
        path: Folder of the run.
    """
    rows = metrics.MetricsFile(path / FILE).read_new()
    if not rows or any(row["cpu_secs"] is None for row in rows):
        return None
    return Costs(
        sum(metrics.number(row, "cpu_secs") for row in rows),
        max(metrics.number(row, "peak_memory_bytes") for row in rows) or None,
    )


def memory_bytes(processes: Sequence[psutil.Process]) -> int:
    """Returns the PSS of processes together; those that have ended have none."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


_HEADER = ",".join(COLUMNS) + "\n"
_BLANK_ROW = "," * (len(COLUMNS) - 1) + "\n"


def _run_path(command: Sequence[str]) -> tuple[pathlib.Path, bool]:
    """Returns the folder of a run, and whether the run is a new one."""
    flags = dict(word.partition("=")[::2] for word in command)
    path = flags.get("--run_dir") or flags["--resume"]
    return pathlib.Path(path), "--run_dir" in flags


def _write(file: pathlib.Path, text: str) -> None:
    with disk.Disk().survived(str(file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write_bytes(file, text.encode())


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
