"""What all training scripts do: flags, run folder, graph, live view, last words."""

import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import launchpad as lp

from agents import environment_check, resuming, run_config
from launch import command_line
from rlcomponents.launching import (
    choices,
    describe,
    endings,
    launcher,
    open_files,
    placement,
    private_network,
)
from rlcomponents.runs import curve, progress, run_folder, summary

RESULT_NOT_WRITTEN = 1
"""Exit code of a run that came to its end, but whose summary could not be written."""


def main(
    argv: Sequence[str],
    *,
    agent: str,
    description: str,
    config_class: type[run_config.RunConfig],
    build_program: Callable[[Any, str], lp.Program],
) -> int:
    """Trains an agent as the command line says.

    Args:
        argv: Flags.
        agent: Its name.
        description: Of the script, for `--help`.
        config_class: Of the agent's settings.
        build_program: Declares the program from the config and the run's folder.

    Returns:
        The exit code: see `launching.endings`. Bad input ends the process with 2.
    """
    flags = command_line.parse(argv, description, config_class=config_class)
    with contextlib.ExitStack() as held:
        ready = _make_ready(flags, agent, config_class, build_program, held)
        exit_code = _train(agent, ready, flags.run)
    return exit_code


def check_launch(run: command_line.LaunchFlags) -> None:
    """Raises ValueError where no program can be launched as the flags ask."""
    choices.check_launch_type(run.lp_launch_type)
    choices.check_on_failure(run.on_failure, run.lp_launch_type)
    choices.check_hang_timeout(run.hang_timeout_secs)
    private_network.check(run.node_network, run.lp_launch_type)


def build_checked(
    config: run_config.RunConfig,
    given: Iterable[str],
    run: command_line.LaunchFlags,
    build_program: Callable[[Any, str], lp.Program],
    run_dir: pathlib.Path,
) -> tuple[lp.Program, dict[str, dict[str, str]] | None]:
    """Checks that a run can start, and declares its program. Changes nothing.

    Args:
        config: Settings of the run.
        given: Names of those that somebody chose.
        run: How it is to be launched.
        build_program: Declares the program from the config and the run's folder.
        run_dir: The folder, which need not exist.

    Returns:
        The program, and the environment variables of its nodes by group; None: the
        default ones.

    Raises:
        ValueError: In one sentence: what cannot work.
        ImportError: Packages of the environment are missing.
        Exception: Whatever a user's own environment raises.
    """
    run_config.refuse_ignored(config, given)
    config.check_launch_type(run.lp_launch_type)
    environment_check.check_environment(config)
    program = build_program(config, str(run_dir.resolve()))
    open_files.check(program)
    return program, _variables(program, run)


class _ReadyRun(NamedTuple):
    """A run that can start.

    Attributes:
        config: Its settings.
        program: Its nodes.
        folder: Its folder, held.
        variables: Environment variables of its nodes, by group. None: the default ones.
    """

    config: run_config.RunConfig
    program: lp.Program
    folder: run_folder.RunFolder
    variables: dict[str, dict[str, str]] | None


def _make_ready(
    flags: command_line.Flags,
    agent: str,
    config_class: type[run_config.RunConfig],
    build_program: Callable[[Any, str], lp.Program],
    held: contextlib.ExitStack,
) -> _ReadyRun:
    """Checks all that was given, then makes the folder ready, which `held` keeps."""
    with command_line.bad_input_refused(_environment_name(flags)):
        check_launch(flags.run)
        plan = None
        if flags.run.resume is not None:
            plan = _plan_resume(flags, agent, config_class, held)
            config = plan.config
        else:
            config = run_config.make_config(
                config_class, flags.settings, preset=flags.run.preset
            )
        path = pathlib.Path(
            flags.run.resume
            or flags.run.run_dir
            or run_folder.default_path(agent, config.environment)
        )
        program, variables = build_checked(
            config, flags.settings, flags.run, build_program, path
        )
        if plan is None:
            folder = run_folder.RunFolder.create(path)
            held.enter_context(folder.held())
            folder.write_config({"agent": agent, **dataclasses.asdict(config)})
        else:
            folder = plan.folder
            _go_on(plan)
            if not flags.run.quiet:
                print(resuming.describe(plan))
    return _ReadyRun(config, program, folder, variables)


def _environment_name(flags: command_line.Flags) -> str:
    """Returns the name of the environment as far as flags and folder tell it."""
    if flags.run.resume is None:
        return str(flags.settings.get("environment", ""))
    with contextlib.suppress(ValueError):  # Said when the run is looked at.
        settings = run_folder.RunFolder(flags.run.resume).read_config()
        return str(settings.get("environment", ""))
    return ""


def _plan_resume(
    flags: command_line.Flags,
    agent: str,
    config_class: type[run_config.RunConfig],
    held: contextlib.ExitStack,
) -> resuming.Plan:
    """Looks from where a run goes on, and holds its folder."""
    if flags.run.run_dir is not None:
        raise ValueError(
            f"--resume={flags.run.resume} goes on in the folder of that run: leave out "
            f"--run_dir={flags.run.run_dir}."
        )
    if flags.run.preset != "auto":
        raise ValueError(
            f"--resume={flags.run.resume} has the settings of that run: leave out "
            f"--preset={flags.run.preset}."
        )
    folder = run_folder.RunFolder(flags.run.resume)
    folder.read_config()  # Else the lock would be left in a folder without a run.
    held.enter_context(folder.held())
    return resuming.check(folder, agent, config_class, flags.settings)


def _go_on(plan: resuming.Plan) -> None:
    try:
        resuming.prepare(plan)
    except OSError as error:
        raise ValueError(
            f"{plan.folder.path} could not be made ready ({error}): see to it, and "
            "resume again."
        ) from error


def _train(
    agent: str,
    ready: _ReadyRun,
    run: command_line.RunFlags,
) -> int:
    """Runs the program and says what came of it; returns the exit code."""
    earlier = _restarts_so_far(ready.folder)
    try:
        if not run.quiet:
            _print_start(ready)
        ending = _launch(ready, run)
    except BrokenPipeError:  # Nobody reads the output any more, as after `| head`.
        ending = endings.Ending(endings.OUTPUT_CLOSED, "output closed")
    try:
        result, picture = _write_ending(
            ending, agent, ready.config, ready.folder, earlier
        )
    except (OSError, ValueError) as error:
        # As on a full disk. Nobody shall take such a run for one that has a result.
        with contextlib.suppress(OSError):
            print(f"Summary and curve could not be written: {error}", file=sys.stderr)
        return ending.exit_code or RESULT_NOT_WRITTEN
    if ending.exit_code != endings.NODE_DIED:
        # Else the last lines on the screen are those about the node.
        with contextlib.suppress(OSError):  # Nobody reads it, or a full disk.
            _print_ending(result, picture)
    return ending.exit_code


def _restarts_so_far(folder: run_folder.RunFolder) -> Sequence[dict[str, Any]]:
    """Returns the restarts of a run's part before a resume."""
    if not folder.summary_json.exists():
        return []
    try:
        return summary.read(folder.summary_json).restarts
    except ValueError as error:
        print(f"Restarts before this resume are not known: {error}", file=sys.stderr)
        return []


def _print_start(ready: _ReadyRun) -> None:
    print(describe.describe(ready.program))
    print(f"environment {ready.config.environment}, run folder {ready.folder.path}")
    for note in ready.config.notes():
        print(note)
    sys.stdout.flush()


def _variables(
    program: lp.Program, run: command_line.LaunchFlags
) -> dict[str, dict[str, str]] | None:
    """Returns the nodes' environment variables, or None where nothing is asked."""
    asked = {
        "compute_threads": run.compute_threads,
        "gpus": run.gpus,
    }
    given = [name for name, value in asked.items() if value is not None]
    if not given:
        return None
    if run.lp_launch_type != "local_mp":
        raise ValueError(
            f"--{given[0]} is for nodes in processes of their own, and with "
            f"--lp_launch_type={run.lp_launch_type} they share one: leave it out, or "
            "use local_mp."
        )
    return placement.variables(program.groups, **asked)


def _launch(ready: _ReadyRun, run: command_line.RunFlags) -> endings.Ending:
    launch = functools.partial(
        launcher.launch,
        ready.program,
        ready.folder.path,
        launch_type=run.lp_launch_type,
        on_failure=run.on_failure,
        hang_timeout_secs=run.hang_timeout_secs,
        network=run.node_network,
        environment=ready.variables,
    )
    if run.quiet:
        return launch()
    view = progress.ProgressView(
        ready.folder,
        ready.config.max_steps,
        stream=sys.stdout,
        is_terminal=sys.stdout.isatty() and os.environ.get("TERM") != "dumb",
    )
    return launch(on_tick=view.tick, on_end=view.close, on_message=view.say)


def _write_ending(
    ending: endings.Ending,
    agent: str,
    config: run_config.RunConfig,
    folder: run_folder.RunFolder,
    earlier_restarts: Sequence[dict[str, Any]],
) -> tuple[summary.Summary, pathlib.Path]:
    """Returns the summary as it is in the end, and where the curve is."""
    # Who ends a program that is about to end takes nothing from its result.
    is_complete = ending.exit_code != endings.NODE_DIED and summary.is_complete(
        folder.summary_json, config.max_steps
    )
    if ending.exit_code != endings.FINISHED and not is_complete:
        reason = f"{ending.reason}: {ending.node}" if ending.node else ending.reason
        summary.set_ending(
            folder.summary_json, reason, agent=agent, environment=config.environment
        )
    restarts = [*earlier_restarts, *(each._asdict() for each in ending.restarts)]
    if restarts:
        summary.set_restarts(folder.summary_json, restarts)
    picture = curve.plot(folder)
    return summary.read(folder.summary_json), picture


def _print_ending(result: summary.Summary, picture: pathlib.Path) -> None:
    print(
        f"Ended ({result.reason}): {result.agent_steps:,} agent steps, "
        f"{result.updates:,} updates."
    )
    if result.evaluation_return is not None:
        score = _score(result.evaluation_return, result.evaluation_standard_error)
        print(
            f"Evaluation after {result.evaluation_agent_steps:,} agent steps: {score} "
            f"over {result.evaluation_episodes} episodes."
        )
    if result.best_evaluation_return is not None:
        score = _score(
            result.best_evaluation_return, result.best_evaluation_standard_error
        )
        print(
            f"Best evaluation, after {result.best_evaluation_agent_steps:,} agent "
            f"steps: {score} over {result.best_evaluation_episodes} episodes."
        )
    if result.restarts:
        nodes = collections.Counter(restart["node"] for restart in result.restarts)
        counts = ", ".join(f"{node} ({count} x)" for node, count in nodes.items())
        print(f"Started again: {counts}.")
    print(f"Curve: {picture}", flush=True)


def _score(mean_return: float, standard_error: float | None) -> str:
    error = "" if standard_error is None else f" ± {standard_error:.2f}"
    return f"mean return {mean_return:.2f}{error}"
