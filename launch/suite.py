"""Trains an agent on several games with several seeds, and makes a table of it.

    python launch/suite.py --agent=gorila_dqn --games=pong,breakout --out=results/atari
    python launch/suite.py --agent=a3c --games=minatar --seeds=5 --out=results/minatar

One run after another, each by the agent's own script in a folder of its own, OUT/runs/;
OUT/table.md and OUT/table.csv are written anew after each. Started again with the same
flags, a suite goes on where it stopped: what is complete stays, what was interrupted
goes on from its newest checkpoint. With --agent, --help also lists its settings.
"""

import dataclasses
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Protocol

from launch import command_line, suite_plan
from rlcomponents.evaluation import suite_origins, suite_results, suite_tables
from rlcomponents.launching import ending_signals, endings, launcher, parent_death
from rlcomponents.runs import checkpoints, disk, run_folder

SOME_FAILED = 1
"""Exit code of a suite at its end, of which runs or the table are not complete."""


class Runner(Protocol):
    """Runs commands, one at a time."""

    signal: int | None
    """The signal that asked for the end, if one did."""

    def run(self, command: Sequence[str]) -> int:
        """Runs a command to its end; returns its exit code."""


class ProcessRunner:
    """Runs each command as a process that gets the signals which this one gets.

    In a session of its own: else the terminal would send Ctrl-C to the process as well,
    and a second one ends a run by force. Where this process is killed by force, the
    kernel sends the other one SIGTERM, so that no run goes on beside the next suite.

    Attributes:
        signal: The last that came and ends the suite; None so far.
    """

    def __init__(self) -> None:
        """Runs nothing yet."""
        self.signal: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_handed_on = False  # Whether the process has had the signal.

    def receive(self, number: int) -> None:
        """Notes a signal, and hands it on to the process."""
        self.signal = number
        if self._process is not None:
            self._is_handed_on = True
            self._process.send_signal(number)

    def run(self, command: Sequence[str]) -> int:
        """See `Runner`. For the main thread."""
        self._is_handed_on = False
        # From here on `receive` reaches it; the look after that finds what came before.
        self._process = subprocess.Popen(
            parent_death.terminated_with_this(command), start_new_session=True
        )
        if self.signal is not None and not self._is_handed_on:
            self._process.send_signal(self.signal)
        try:
            return self._process.wait()
        finally:
            self._process = None


def main(argv: Sequence[str]) -> int:
    """Runs the suite; returns the exit code."""
    suite = suite_plan.make_ready(argv, str(__doc__))
    runner = ProcessRunner()
    with command_line.bad_input_refused(), ending_signals.sent_to(runner.receive):
        return go_through(suite, runner)


def go_through(suite: suite_plan.Suite, runner: Runner) -> int:
    """Runs what is not complete, and writes the table after each run.

    Holds the folder meanwhile.

    Args:
        suite: What to run.
        runner: Runs one command after another.

    Returns:
        0 where all runs and the table are complete, else `SOME_FAILED`; that of a
        signal which ended the suite; `OUTPUT_CLOSED` where nobody reads what is said.

    Raises:
        ValueError: Another process holds the folder.
    """
    with run_folder.RunFolder(suite.out / "runs").held():
        return _go_through(suite, runner)


def _go_through(suite: suite_plan.Suite, runner: Runner) -> int:
    failed = []
    try:
        has_table = _write_table(suite)
        for number, run in enumerate(suite.runs, start=1):
            name = f"{run.config['environment']} with seed {run.config['seed']}"
            place = f"{number} of {len(suite.runs)}: {name}"
            if suite_results.is_complete(run.path):
                print(f"{place} is complete.", flush=True)
                continue
            if runner.signal is None:
                print(f"{place}, in {run.path}.", flush=True)
                command = _command(suite, run)
                if not run.path.exists():
                    _leave_origin(run.path)
                exit_code = runner.run(command)
            if runner.signal is not None:
                break
            if exit_code == endings.OUTPUT_CLOSED:
                return endings.OUTPUT_CLOSED
            if not suite_results.is_complete(run.path):
                print(f"{name} has failed (exit code {exit_code}).", file=sys.stderr)
                failed.append(name)
            has_table = _write_table(suite)
        if has_table:
            print(f"Table: {suite.out / suite_tables.MARKDOWN}", flush=True)
        if runner.signal is not None:
            print(f"To go on: {suite.provenance.command}", flush=True)
            is_interrupt = runner.signal == signal.SIGINT
            return endings.INTERRUPTED if is_interrupt else endings.TERMINATED
        if failed:
            print(f"Failed, and to be tried again: {', '.join(failed)}.", flush=True)
        if failed or not has_table:
            return SOME_FAILED
    except BrokenPipeError:
        return endings.OUTPUT_CLOSED
    return endings.FINISHED


def _write_table(suite: suite_plan.Suite) -> bool:
    """Writes the table as it is now; returns whether the disk took it."""
    try:
        suite_tables.write(suite.out, suite.runs, suite.provenance)
    except OSError as error:
        print(
            f"The table could not be written ({error}): see to it, and start the suite "
            "again.",
            file=sys.stderr,
        )
        return False
    return True


def _leave_origin(path: pathlib.Path) -> None:
    """Has a new run say what it is made with, as far as the disk takes it."""
    with disk.Disk().survived(str(path)):
        suite_origins.write(path, suite_plan.origin())


def _command(suite: suite_plan.Suite, run: suite_results.Run) -> list[str]:
    """Returns what starts a run or goes on with it; makes room for a new one."""
    script = pathlib.Path(__file__).with_name(f"{suite.flags.agent}.py")
    command = [sys.executable, str(script), *_launch_flags(suite.flags)]
    folder = run_folder.RunFolder(run.path)
    if checkpoints.latest(folder.checkpoints, thorough=True) is not None:
        return [*command, command_line.flag("resume", run.path)]
    if run.path.exists():  # It ended before it had saved anything.
        with folder.held():
            shutil.rmtree(run.path)
    settings = {
        **suite.settings,
        "preset": suite.flags.preset,
        "environment": run.config["environment"],
        "seed": run.config["seed"],
        "run_dir": run.path,
    }
    return [*command, *(command_line.flag(*each) for each in settings.items())]


def _launch_flags(flags: suite_plan.SuiteFlags) -> list[str]:
    """Returns the flags of how to launch that are not as by default."""
    return [
        command_line.flag(field.name, getattr(flags, field.name))
        for field in dataclasses.fields(command_line.LaunchFlags)
        if field.name != "preset" and getattr(flags, field.name) != field.default
    ]


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
