"""What a suite is to run: all that was given is checked before the first run starts."""

import argparse
import dataclasses
import datetime
import importlib
import importlib.metadata
import os
import pathlib
import platform
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agents import run_config, setting_checks
from launch import command_line, saved_runs, training
from rlcomponents.environments import registry
from rlcomponents.evaluation import suite_origins, suite_results, suite_tables
from rlcomponents.runs import run_folder

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


def make_ready(argv: Sequence[str], description: str) -> Suite:
    """Checks all that was given, and makes the folder; else ends the process with 2.

    Args:
        argv: Flags.
        description: Of the script, for `--help`.
    """
    agent = _agent(argv)
    config_class = saved_runs.AGENT_CONFIGS.get(agent or "")
    if config_class is None and "--help" not in argv:
        names = ", ".join(sorted(saved_runs.AGENT_CONFIGS))
        command_line.refuse(f"--agent is {agent!r}: it must be one of {names}.")
    flags, settings, _ = command_line.parse(
        argv, description, run_class=SuiteFlags, config_class=config_class
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
        if flags.games is None:
            raise ValueError("--games is missing: give games, with commas between.")
        games = environments(flags.games)
        suite_results.check_packages(len(games), flags.seeds)
        training.check_launch(flags)
    program = importlib.import_module(f"agents.{agent}.program")
    runs = []
    for environment in games:
        with command_line.bad_input_refused(environment):
            runs += _check_game(
                environment, flags, settings, config_class, program.build_program
            )
    with command_line.bad_input_refused():
        for run in runs:
            _check_same(run, str(agent))
        try:
            (out / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The folder {out} is not writable ({error.strerror}): give one in "
                "which you can make files."
            ) from error
    command = shlex.join(["python", "launch/suite.py", *argv])
    return Suite(
        out, runs, flags, settings, suite_tables.Provenance(str(agent), command)
    )


def environments(games: str) -> list[str]:
    """Returns the full names of games.

    Args:
        games: As of `SuiteFlags`.

    Raises:
        ValueError: One has no name, or comes twice.
    """
    names: list[str] = []
    for game in games.split(","):
        names += _full_names(game.strip())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"--games has {', '.join(twice)} twice: give it once.")
    return names


def in_a_path(environment: str) -> str:
    """Returns the name of an environment as that of a folder."""
    return re.sub(r"[^A-Za-z0-9_.]+", "_", environment)


def run_paths(out: pathlib.Path, environment: str, seeds: int) -> list[pathlib.Path]:
    """Returns the folders of the runs of a game, in the order of their seeds."""
    game = in_a_path(environment)
    return [out / "runs" / f"{game}-{seed}" for seed in range(seeds)]


def differences(run: suite_results.Run, path: pathlib.Path, agent: str) -> list[str]:
    """Returns in what the run in a folder differs from one of a suite, in words.

    Args:
        run: That of the suite.
        path: The folder.
        agent: Of the suite.

    Raises:
        ValueError: The folder has no settings, or such as there are none.
    """
    folder = run_folder.RunFolder(path)
    found = folder.read_config()
    found_agent = found.pop("agent", None)
    if found_agent != agent:
        return [f"agent {found_agent!r} rather than {agent!r}"]
    saved = dataclasses.asdict(
        run_config.saved_config(
            saved_runs.AGENT_CONFIGS[agent], found, folder.config_json
        )
    )
    return [
        f"{name} {saved[name]!r} rather than {value!r}"
        for name, value in run.config.items()
        if saved[name] != value
    ]


def origin() -> suite_origins.Origin:
    """Returns what a run that is started now is made with."""
    today = datetime.date.today().isoformat()
    return suite_origins.Origin(_versions(), _machine(), today, _commit())


def _agent(argv: Sequence[str]) -> str | None:
    """Returns the agent, on which it depends what flags there are."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--agent", nargs="?")
    agent = parser.parse_known_args(argv)[0].agent
    return None if agent is None else str(agent)


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
    paths = run_paths(pathlib.Path(str(flags.out)), environment, flags.seeds)
    training.build_checked(config, settings, flags, build_program, paths[0])
    return [
        suite_results.Run({**dataclasses.asdict(config), "seed": seed}, path)
        for seed, path in enumerate(paths)
    ]


def _check_same(run: suite_results.Run, agent: str) -> None:
    """Refuses a folder with another run than this suite would make."""
    config_json = run_folder.RunFolder(run.path).config_json
    if not config_json.exists() or not config_json.stat().st_size:
        return  # There is none, or one that never started.
    different = differences(run, run.path, agent)
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


def _commit() -> str | None:
    """Returns the commit of the checkout with this code; None where there is none."""
    root = pathlib.Path(__file__).parents[1]
    try:
        # What is installed may lie in a checkout of something else, which ignores it.
        _git(root, "ls-files", "--error-unmatch", __file__)
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changes = _git(root, "status", "--porcelain", "--", *_CODE)
    except (OSError, subprocess.CalledProcessError):
        return None  # No git, or no checkout.
    return f"{commit} with uncommitted changes" if changes else commit


_CODE = ("rlcomponents", "agents", "launch", "experiments")


def _git(folder: pathlib.Path, *words: str) -> str:
    return subprocess.run(
        ["git", "--no-optional-locks", "-C", str(folder), *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
