"""What all training scripts do: flags, run folder, graph, live view, last words."""

import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import launchpad as lp

from agents import environment_check, run_config
from launch import command_line
from rlcomponents.launching import (
    describe,
    endings,
    launcher,
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
    with command_line.bad_input_refused(flags.settings.get("environment", "")):
        launcher.check_launch_type(flags.run.lp_launch_type)
        launcher.check_on_failure(flags.run.on_failure, flags.run.lp_launch_type)
        launcher.check_hang_timeout(flags.run.hang_timeout_secs)
        private_network.check(flags.run.node_network, flags.run.lp_launch_type)
        config = run_config.make_config(
            config_class, flags.settings, preset=flags.run.preset
        )
        run_config.refuse_ignored(config, flags.settings)
        config.check_launch_type(flags.run.lp_launch_type)
        environment_check.check_environment(config)
        path = pathlib.Path(
            flags.run.run_dir or run_folder.default_path(agent, config.environment)
        )
        program = build_program(config, str(path.resolve()))
        variables = _variables(program, flags.run)
        folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": agent, **dataclasses.asdict(config)})
    try:
        _print_start(config, program, folder)
        ending = _launch(program, config, folder, flags.run, variables)
    except BrokenPipeError:  # Nobody reads the output any more, as after `| head`.
        ending = endings.Ending(endings.OUTPUT_CLOSED, "output closed")
    try:
        result, picture = _write_ending(ending, agent, config, folder)
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


def _print_start(
    config: run_config.RunConfig, program: lp.Program, folder: run_folder.RunFolder
) -> None:
    print(describe.describe(program))
    print(f"environment {config.environment}, run folder {folder.path}")
    for note in config.notes():
        print(note)
    sys.stdout.flush()


def _variables(
    program: lp.Program, run: command_line.RunFlags
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


def _launch(
    program: lp.Program,
    config: run_config.RunConfig,
    folder: run_folder.RunFolder,
    run: command_line.RunFlags,
    variables: dict[str, dict[str, str]] | None,
) -> endings.Ending:
    launch = functools.partial(
        launcher.launch,
        program,
        folder.path,
        launch_type=run.lp_launch_type,
        on_failure=run.on_failure,
        hang_timeout_secs=run.hang_timeout_secs,
        network=run.node_network,
        environment=variables,
    )
    if run.quiet:
        return launch()
    view = progress.ProgressView(
        folder,
        config.max_steps,
        stream=sys.stdout,
        is_terminal=sys.stdout.isatty() and os.environ.get("TERM") != "dumb",
    )
    return launch(on_tick=view.tick, on_end=view.close, on_message=view.say)


def _write_ending(
    ending: endings.Ending,
    agent: str,
    config: run_config.RunConfig,
    folder: run_folder.RunFolder,
) -> tuple[summary.Summary, pathlib.Path]:
    """Returns the summary as it is in the end, and where the curve is."""
    if ending.exit_code != endings.FINISHED:
        reason = f"{ending.reason}: {ending.node}" if ending.node else ending.reason
        summary.set_ending(
            folder.summary_json, reason, agent=agent, environment=config.environment
        )
    if ending.restarts:
        restarts = [restart._asdict() for restart in ending.restarts]
        summary.set_restarts(folder.summary_json, restarts)
    picture = curve.plot(folder)
    return summary.read(folder.summary_json), picture


def _print_ending(result: summary.Summary, picture: pathlib.Path) -> None:
    print(
        f"Ended ({result.reason}): {result.agent_steps:,} agent steps, "
        f"{result.updates:,} updates."
    )
    if result.evaluation_return is not None:
        print(
            f"Evaluation: mean return {result.evaluation_return:.2f} over "
            f"{result.evaluation_episodes} episodes."
        )
    if result.restarts:
        nodes = collections.Counter(restart["node"] for restart in result.restarts)
        counts = ", ".join(f"{node} ({count} x)" for node, count in nodes.items())
        print(f"Started again: {counts}.")
    print(f"Curve: {picture}", flush=True)
