"""Measures how fast a program of two bundles starts to learn, and how fast it ends.

    start       from the command to the first row of a bundle that tells of an update; a
                bundle writes one a second, so that this is up to a second too much
    shut-down   from SIGINT to the launcher (Ctrl-C) to its end

`launch/gorila_dqn.py` on Pong with two bundles, and all else as by default but for
replay, which has to hold one batch before anybody learns, rather than 50,000 items.

What a start is compared with is what its processes would take for `import tensorflow`
alone if they shared the cores perfectly: N x (seconds of a fresh process that imports
it) / cores, for all N processes, though the launcher, the parameter shards and the
coordinator do without TensorFlow.

Bytecode and compiled kernels are there: the first start after an installation, which
makes them, does not count.

    python benchmarks/bench_startup.py         (about two minutes)
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

import contenders
import measuring
import programs
import psutil

from rlcomponents.runs import metrics, run_folder

FLAGS = {"environment": "atari:pong", "num_bundles": 2, "min_replay_items": 32}
LEARNING_SECS = 3.0  # Before the stop is asked for.
TIMEOUT_SECS = 300.0
POLL_SECS = 0.01
IMPORT = [sys.executable, "-c", "import tensorflow"]


class Life(NamedTuple):
    """Seconds of one program, since the command where nothing else is said.

    Attributes:
        processes: Until all nodes have a process.
        acting: Until a bundle acts: networks, environment and replay are made.
        learning: Until a bundle has learned.
        all_learning: Until all have.
        shut_down: From SIGINT to the end.
        num_processes: The launcher among them.
    """

    processes: float
    acting: float
    learning: float
    all_learning: float
    shut_down: float
    num_processes: int


def main() -> None:
    """Prints seconds, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=5)
    report = measuring.Report("startup", options)
    print("Gorila DQN on Pong, 2 bundles: from the command to an update, and its end")
    if not options.quick:
        live()
    imports, lives = [], []
    for _ in range(options.rounds):
        imports.append(import_secs())
        lives.append(live())
    num_processes = lives[0].num_processes
    cores = len(os.sched_getaffinity(0))
    report.number("import tensorflow, in a fresh process", imports, "s")
    for name, what in (
        ("processes", "until all processes run"),
        ("acting", "until a bundle acts"),
        ("learning", "until a bundle has learned"),
        ("all_learning", "until all bundles have learned"),
    ):
        report.number(what, [getattr(life, name) for life in lives], "s")
    shared = [num_processes * secs / cores for secs in imports]
    report.number(f"{num_processes} x import tensorflow / {cores} cores", shared, "s")
    report.ratio(
        f"start / ({num_processes} x import tensorflow / {cores} cores)",
        measuring.ratios([life.learning for life in lives], shared),
        at_most=1.3,
    )
    report.ratio("shut-down, seconds", [life.shut_down for life in lives], at_most=3.0)
    report.write()


def import_secs() -> float:
    """Returns the seconds that a fresh process takes to import TensorFlow, and end."""
    start_secs = time.monotonic()
    subprocess.run(IMPORT, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - start_secs


def live() -> Life:
    """Starts a program, lets it learn, and stops it.

    Raises:
        RuntimeError: It did not come to work in time, or did not end as asked.
    """
    with tempfile.TemporaryDirectory(prefix="rlcomponents-bench-") as path:
        run_dir = pathlib.Path(path, "run")
        log = pathlib.Path(path, "output.log")
        command = contenders.launch_command("launch/gorila_dqn.py", run_dir, FLAGS)
        with log.open("wb") as output:
            start_secs = time.monotonic()
            process = subprocess.Popen(
                command,
                cwd=programs.ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            return _live(process, run_folder.RunFolder(run_dir), start_secs)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.read_text()[-2_000:]}") from error
        finally:
            process.kill()  # The kernel takes the nodes along.
            process.wait()


def _live(
    process: subprocess.Popen, folder: run_folder.RunFolder, start_secs: float
) -> Life:
    def until(what: str, is_so: Callable[[], bool]) -> float:
        while not is_so():
            if process.poll() is not None:
                raise RuntimeError(f"The program ended before {what}")
            if time.monotonic() > start_secs + TIMEOUT_SECS:
                raise RuntimeError(f"The program did not come to {what} in time")
            time.sleep(POLL_SECS)
        return time.monotonic() - start_secs

    def updates() -> list[float]:
        rows = map(metrics.read_last, folder.metrics.glob("bundle-*.csv"))
        return [metrics.number(row, "updates") for row in rows if row]

    all_run = until("its processes", folder.nodes_json.exists)
    acting = until("acting", lambda: bool(updates()))
    learning = until("an update", lambda: any(updates()))
    all_learning = until(
        "an update of each bundle",
        lambda: len(updates()) == FLAGS["num_bundles"] and all(updates()),
    )
    num_processes = 1 + len(psutil.Process(process.pid).children(recursive=True))
    time.sleep(LEARNING_SECS)
    process.send_signal(signal.SIGINT)
    stop_secs = time.monotonic()
    exit_code = process.wait(TIMEOUT_SECS)
    shut_down = time.monotonic() - stop_secs
    if exit_code != 128 + signal.SIGINT:
        raise RuntimeError(f"The program ended with exit code {exit_code}")
    return Life(all_run, acting, learning, all_learning, shut_down, num_processes)


if __name__ == "__main__":
    main()
