"""Prepares the folder of a run so that its program goes on from where it was saved.

First everything is looked at, then things are changed: a resume that is refused has
changed nothing, and one that is killed half way can be repeated, since all it writes
comes from the checkpoint. No TensorFlow here: the launcher does this.
"""

import dataclasses
import functools
import json
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any, NamedTuple

from agents import run_config
from rlcomponents import array_files
from rlcomponents.parameters import saved_states
from rlcomponents.replay import saves
from rlcomponents.runs import (
    atomic_files,
    checkpoints,
    metrics,
    node_state,
    run_folder,
    summary,
)

_COUNTS = ("agent_steps", "episodes", "updates")


class Plan(NamedTuple):
    """What a resume comes to, before anything is changed.

    Attributes:
        folder: Of the run.
        agent: Its name.
        config: Its settings from now on.
        changes: Settings that are others now: the value before.
        checkpoint: From where it goes on.
        agent_steps: Steps that it had taken there.
        updates: Updates that it had taken there.
        parameters: What each shard goes on from.
        nodes: What each node goes on from, by the name of its file.
        statistics: Optimiser statistics of workers' own, by the name of the file.
        dropped_replays: Replays that this run has no place for.
        dropped_statistics: Files of statistics of workers that there are no more.
        unreached_bests: Best parameters of evaluations after the checkpoint, with what
            they are to be called.
    """

    folder: run_folder.RunFolder
    agent: str
    config: run_config.RunConfig
    changes: dict[str, Any]
    checkpoint: pathlib.Path
    agent_steps: int
    updates: int
    parameters: list[Mapping[str, Any]]
    nodes: dict[str, bytes]
    statistics: dict[str, Mapping[str, Any]]
    dropped_replays: list[pathlib.Path]
    dropped_statistics: list[str]
    unreached_bests: list[tuple[pathlib.Path, pathlib.Path]]


def check(
    folder: run_folder.RunFolder,
    agent: str,
    config_class: type[run_config.RunConfig],
    overrides: Mapping[str, Any],
) -> Plan:
    """Looks whether and from where a run can go on. Changes nothing.

    Args:
        folder: Of the run.
        agent: Name of the agent that is to go on.
        config_class: Of its settings.
        overrides: Settings that are to be others than they were.

    Raises:
        ValueError: In one sentence: there is no run of this agent, a setting cannot
            change, no checkpoint is intact, or the run is complete: it has taken all
            its steps, and has had its last evaluation. One whose summary does not say
            so, as it was ended in the moment between, goes on to its end.
    """
    settings = folder.read_config()
    found = settings.pop("agent", None)
    if found != agent:
        raise ValueError(
            f"{folder.path} holds a run of {found}, not of {agent}: resume it with "
            f"launch/{found}.py."
        )
    before = run_config.saved_config(config_class, settings, folder.config_json)
    config = dataclasses.replace(before, **overrides)
    changes = {
        name: getattr(before, name)
        for name in overrides
        if getattr(before, name) != getattr(config, name)
    }
    _refuse_fixed(config, changes)
    path = checkpoints.latest(folder.checkpoints, thorough=True)
    if path is None:
        raise ValueError(
            f"{folder.path} holds no intact checkpoint to go on from: start the run "
            "anew, in another folder."
        )
    parts, facts = checkpoints.load(path)
    agent_steps = int(facts["agent_steps"])
    if (
        agent_steps >= config.max_steps
        and _is_evaluated(folder, config.max_steps)
        and (changes or summary.is_complete(folder.summary_json, config.max_steps))
    ):
        raise ValueError(
            f"The run in {folder.path} has taken {agent_steps:,} of its "
            f"{config.max_steps:,} steps: give a larger --max_steps to go on."
        )
    states = [
        parts.pop(f"parameters_{index}")
        for index in range(facts["num_parameter_shards"])
    ]
    statistics = {f"{name}.npz": arrays for name, arrays in parts.items()}
    return Plan(
        folder=folder,
        agent=agent,
        config=config,
        changes=changes,
        checkpoint=path,
        agent_steps=agent_steps,
        updates=int(facts["updates"]),
        parameters=list(saved_states.recut(states, config.num_parameter_states)),
        nodes=checkpoints.load_documents(path),
        statistics={
            name: arrays
            for name, arrays in statistics.items()
            if name in config.statistics_states
        },
        dropped_replays=sorted(
            entry
            for entry in folder.state.glob("*")
            if entry.is_dir() and entry.name not in config.replay_states
        ),
        dropped_statistics=sorted(statistics.keys() - set(config.statistics_states)),
        unreached_bests=_unreached_bests(folder, agent_steps),
    )


def prepare(plan: Plan) -> None:
    """Makes the folder one from which the program goes on as planned.

    Raises:
        OSError: The disk took no more. It can be done again.
    """
    folder = plan.folder
    checkpoints.set_aside_newer(folder.checkpoints, plan.checkpoint)
    folder.state.mkdir(exist_ok=True)
    for leftover in folder.state.glob(".*.tmp"):  # Of writers that were killed.
        leftover.unlink()
    _write_arrays(plan)
    _write_nodes(plan)
    for replay in plan.dropped_replays:
        shutil.rmtree(replay)
    for best, target in plan.unreached_bests:
        best.rename(target)
    _cut_rows(plan)
    folder.write_config({"agent": plan.agent, **dataclasses.asdict(plan.config)})


def describe(plan: Plan) -> str:
    """Returns the line that tells the user from where the run goes on."""
    words = [
        f"Resuming from {plan.checkpoint}: {plan.agent_steps:,} agent steps, "
        f"{plan.updates:,} updates"
    ]
    words += [
        f"{name} is now {getattr(plan.config, name)} (was {before})"
        for name, before in plan.changes.items()
    ]
    if plan.dropped_replays:
        names = ", ".join(_describe_replay(path) for path in plan.dropped_replays)
        words.append(f"dropped, since there is no such replay now: {names}")
    if plan.dropped_statistics:
        workers = [name.removesuffix(".npz") for name in plan.dropped_statistics]
        words.append(
            "dropped, since there is no such worker now: the optimiser statistics of "
            f"{len(workers)} ({', '.join(workers)})"
        )
    if plan.unreached_bests:
        names = ", ".join(str(target) for _, target in plan.unreached_bests)
        words.append(
            "set aside, since the run has not come to this evaluation now: the best "
            f"parameters, as {names}"
        )
    return "; ".join(words) + "."


def _describe_replay(path: pathlib.Path) -> str:
    num_items = saves.saved_items(path)
    return path.name if num_items is None else f"{path.name} ({num_items:,} items)"


def _refuse_fixed(config: run_config.RunConfig, changes: Mapping[str, Any]) -> None:
    fixed = [name for name in changes if name in config.FIXED_SETTINGS]
    if fixed:
        differences = ", ".join(
            f"{name} was {changes[name]!r} and is now {getattr(config, name)!r}"
            for name in fixed
        )
        raise ValueError(
            f"A run cannot go on with another {' and '.join(fixed)} ({differences}): "
            f"leave the flag{'s' if len(fixed) > 1 else ''} out, or start a new run."
        )


def _is_evaluated(folder: run_folder.RunFolder, max_steps: int) -> bool:
    """Whether the last evaluation is that at the end of so many steps."""
    last = metrics.read_last(folder.evaluation_csv)
    steps = metrics.number(last, "agent_steps")
    return metrics.number(last, "final") == 1 and steps >= max_steps


def _unreached_bests(
    folder: run_folder.RunFolder, agent_steps: int
) -> list[tuple[pathlib.Path, pathlib.Path]]:
    """Finds best parameters whose evaluation is not among the rows that stay.

    They would be the best for good of a run that tells of another best evaluation.
    """
    rows = metrics.MetricsFile(folder.evaluation_csv).read_new()
    evaluated_steps = {metrics.number(row, "agent_steps") for row in rows}
    return [
        (path, checkpoints.free_path(folder.checkpoints / f"best_of_{path.name}"))
        for steps, path in checkpoints.listed(folder.best_checkpoint)
        if steps > agent_steps or steps not in evaluated_steps
    ]


def _write_arrays(plan: Plan) -> None:
    """Writes parameters and statistics; of others, nobody goes on from what is old."""
    directory = plan.folder.state
    files = plan.statistics | {
        f"parameters-{index}.npz": state for index, state in enumerate(plan.parameters)
    }
    for name, arrays in files.items():
        array_files.replace(directory / name, arrays)
    for path in directory.glob("*.npz"):
        if path.name not in files:
            path.unlink()


def _write_nodes(plan: Plan) -> None:
    """Writes the states of nodes, of which none forgets a life that it had."""
    directory = plan.folder.state
    names = {path.name for path in directory.glob("*.json")} | plan.nodes.keys()
    for name in names:
        lived = node_state.read(directory / name)
        saved = plan.nodes.get(name)
        # One that was not there yet starts afresh.
        state = node_state.EMPTY if saved is None else node_state.parse(saved)
        if lived is not None and lived["life"] > state["life"]:
            # The life that was saved has been gone on from before.
            state = {**state, "life": lived["life"], "ended": False}
        atomic_files.write_json(directory / name, state, lasting=False)


def _cut_rows(plan: Plan) -> None:
    """Drops the rows of what comes after the checkpoint, and will come again."""
    folder = plan.folder

    def is_before(row: metrics.Row) -> bool:
        return metrics.number(row, "agent_steps") <= plan.agent_steps

    metrics.cut(folder.program_csv, is_before)
    metrics.cut(folder.evaluation_csv, is_before)
    for path in folder.metrics.glob("*.csv"):
        if path == folder.program_csv:
            continue
        saved = plan.nodes.get(f"{path.stem}.json", b"{}")
        counts = json.loads(saved).get("parts", {}).get("counts", {})
        metrics.cut(path, functools.partial(_is_counted, counts))


def _is_counted(counts: Mapping[str, int], row: metrics.Row) -> bool:
    """Says whether a worker's counts, as they were saved, take in one of its rows."""
    return all(metrics.number(row, name) <= counts.get(name, -1) for name in _COUNTS)
