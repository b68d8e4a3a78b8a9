"""Trains an agent on several games with several seeds, and makes a table of it.

    python launch/suite.py --agent=gorila_dqn --games=pong,breakout --out=results/atari
    python launch/suite.py --agent=a3c --games=minatar --seeds=5 --out=results/minatar

One run after another, each by the agent's own script in a folder of its own, OUT/runs/;
OUT/table.md and OUT/table.csv are written anew after each. Started again with the same
flags, a suite goes on where it stopped: what is complete stays, what was interrupted
goes on from its newest checkpoint. With --agent, --help also lists its settings.
"""

import argparse
import dataclasses
import importlib
import importlib.metadata
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from agents import run_config, setting_checks
from launch import command_line, saved_runs, training
from rlcomponents.environments import registry
from rlcomponents.evaluation import suite_results, suite_tables
from rlcomponents.launching import ending_signals, endings, launcher
from rlcomponents.runs import checkpoints, run_folder

SOME_FAILED = 1
"""Exit code of a suite at its end, of which runs or the table are not complete."""

_PACKAGES = ("rlcomponents", "tensorflow-cpu", "dm-reverb", "ale-py", "MinAtar")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuiteFlags(command_line.LaunchFlags):
    """Flags of a suite; how to launch each run is in `LaunchFlags`.

    Attributes:
        agent: Which to train: `a3c`, `async_q`, `dqn` or `gorila_dqn`.
        games: Environments, with commas between. `pong` is `atari:pong`; `minatar`, or
            another suite, is all of its games.
        seeds: How many runs of each game, with seeds from 0.
        out: Folder of the suite: a new one, or the one to go on with.
    """

    agent: str | None = None
    games: str | None = None
    seeds: int = 3
    out: str | None = None


class Suite(NamedTuple):
    """A suite that can start.

    Attributes:
        out: Its folder.
        runs: All runs, in order.
        flags: How to launch each.
        settings: Those of the agent that were given.
        provenance: What the table says of how it was made.
    """

    out: pathlib.Path
    runs: Sequence[suite_results.Run]
    flags: SuiteFlags
    settings: dict[str, Any]
    provenance: suite_tables.Provenance


class Runner(Protocol):
    """Runs commands, one at a time."""

    signal: int | None
    """The signal that asked for the end, if one did."""

    def run(self, command: Sequence[str]) -> int:
        """Runs a command to its end; returns its exit code."""


class ProcessRunner:
    """Runs each command as a process that gets the signals which this one gets.

    In a session of its own: else the terminal would send Ctrl-C to the process as well,
    and a second one ends a run by force.

    Attributes:
        signal: The last that came and ends the suite; None so far.
    """

    def __init__(self) -> None:
        """Runs nothing yet."""
        self.signal: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def receive(self, number: int) -> None:
        """Notes a signal, and hands it on to the process."""
        self.signal = number
        if self._process is not None:
            self._process.send_signal(number)

    def run(self, command: Sequence[str]) -> int:
        """See `Runner`."""
        process = subprocess.Popen(command, start_new_session=True)
        if self.signal is not None:  # Since the last look at it.
            process.send_signal(self.signal)
        self._process = process
        try:
            return process.wait()
        finally:
            self._process = None


def main(argv: Sequence[str]) -> int:
    """Runs the suite; returns the exit code."""
    suite = _make_ready(argv)
    runner = ProcessRunner()
    with command_line.bad_input_refused():
        runs_folder = run_folder.RunFolder(suite.out / "runs")
        with runs_folder.held(), ending_signals.sent_to(runner.receive):
            return go_through(suite, runner)


def go_through(suite: Suite, runner: Runner) -> int:
    """Runs what is not complete, and writes the table after each run.

    Args:
        suite: What to run.
        runner: Runs one command after another.

    Returns:
        0 where all runs and the table are complete, else `SOME_FAILED`; that of a
        signal which ended the suite; `OUTPUT_CLOSED` where nobody reads what is said.
    """
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
                exit_code = runner.run(_command(suite, run))
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


def _write_table(suite: Suite) -> bool:
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


def _command(suite: Suite, run: suite_results.Run) -> list[str]:
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


def _launch_flags(flags: SuiteFlags) -> list[str]:
    """Returns the flags of how to launch that are not as by default."""
    return [
        command_line.flag(field.name, getattr(flags, field.name))
        for field in dataclasses.fields(command_line.LaunchFlags)
        if field.name != "preset" and getattr(flags, field.name) != field.default
    ]


# ------------------------------------------------------------------ before it starts


def _make_ready(argv: Sequence[str]) -> Suite:
    """Checks all that was given, and makes the folder."""
    agent = _agent(argv)
    config_class = saved_runs.AGENT_CONFIGS.get(agent or "")
    if config_class is None and "--help" not in argv:
        names = ", ".join(sorted(saved_runs.AGENT_CONFIGS))
        command_line.refuse(f"--agent is {agent!r}: it must be one of {names}.")
    flags, settings, _ = command_line.parse(
        argv, str(__doc__), run_class=SuiteFlags, config_class=config_class
    )
    assert config_class is not None
    with command_line.bad_input_refused():
        setting_checks.check(flags, {"seeds": setting_checks.AT_LEAST_ONE})
        for name, instead in (("environment", "games"), ("seed", "seeds")):
            if name in settings:
                raise ValueError(
                    f"--{name} is for one run: give --{instead} for those of a suite."
                )
        if flags.out is None:
            raise ValueError("--out is missing: give the folder of the suite.")
        out = pathlib.Path(flags.out)
        environments = _environments(flags.games)
        suite_results.check_packages(len(environments), flags.seeds)
        training.check_launch(flags)
    program = importlib.import_module(f"agents.{agent}.program")
    runs = []
    for environment in environments:
        with command_line.bad_input_refused(environment):
            runs += _check_game(
                environment, flags, settings, config_class, program.build_program
            )
    with command_line.bad_input_refused():
        for run in runs:
            _check_same(run, config_class)
        try:
            (out / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The folder {out} is not writable ({error.strerror}): give one in "
                "which you can make files."
            ) from error
    command = shlex.join(["python", "launch/suite.py", *argv])
    provenance = suite_tables.Provenance(str(agent), command, _versions(), _machine())
    return Suite(out, runs, flags, settings, provenance)


def _agent(argv: Sequence[str]) -> str | None:
    """Returns the agent, on which it depends what flags there are."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--agent", nargs="?")
    agent = parser.parse_known_args(argv)[0].agent
    return None if agent is None else str(agent)


def _environments(games: str | None) -> list[str]:
    """Returns the full names of games."""
    if games is None:
        raise ValueError("--games is missing: give games, with commas between.")
    names: list[str] = []
    for game in games.split(","):
        names += _full_names(game.strip())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"--games has {', '.join(twice)} twice: give it once.")
    return names


def _full_names(game: str) -> Sequence[str]:
    if ":" in game:
        return [game]
    if not game:
        raise ValueError("--games has an empty name: give names, with commas between.")
    try:
        registry.suite(game)
    except ValueError:
        return [f"atari:{game}"]
    of_suite = registry.game_names(game)
    return [game] if game in of_suite or not of_suite else of_suite


def _check_game(
    environment: str,
    flags: SuiteFlags,
    settings: dict[str, Any],
    config_class: type[run_config.RunConfig],
    build_program: Callable[[Any, str], Any],
) -> list[suite_results.Run]:
    """Returns the runs of a game, of which the first was built to see that it can."""
    config = run_config.make_config(
        config_class, {**settings, "environment": environment}, preset=flags.preset
    )
    game = re.sub(r"[^A-Za-z0-9_.]+", "_", environment)
    paths = [
        pathlib.Path(str(flags.out), "runs", f"{game}-{seed}")
        for seed in range(flags.seeds)
    ]
    training.build_checked(config, settings, flags, build_program, paths[0])
    return [
        suite_results.Run({**dataclasses.asdict(config), "seed": seed}, path)
        for seed, path in enumerate(paths)
    ]


def _check_same(
    run: suite_results.Run, config_class: type[run_config.RunConfig]
) -> None:
    """Refuses a folder with another run than this suite would make."""
    folder = run_folder.RunFolder(run.path)
    if not folder.config_json.exists() or not folder.config_json.stat().st_size:
        return  # There is none, or one that never started.
    found = folder.read_config()
    agent = found.pop("agent", None)
    if saved_runs.AGENT_CONFIGS.get(agent) is not config_class:
        raise ValueError(f"{run.path} holds a run of {agent}: give another --out.")
    saved = dataclasses.asdict(
        run_config.saved_config(config_class, found, folder.config_json)
    )
    different = [
        f"{name} {saved[name]!r} rather than {value!r}"
        for name, value in run.config.items()
        if saved[name] != value
    ]
    if different:
        raise ValueError(
            f"{run.path} holds a run with {', '.join(different)}: give the flags that "
            "it was started with, or another --out."
        )


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue  # One of those that not everybody needs.
    return ", ".join(found)


def _machine() -> str:
    """Returns the cores that this process may use, and their model."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {models[0] if models else platform.machine()}"


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
