"""Builds what every agent's program has: the coordinator, and the files of workers.

No TensorFlow here: the coordinator does without. `evaluation` builds the evaluator.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from agents.run_config import RunConfig
from rlcomponents import core, finite, pulse
from rlcomponents.nodes import coordinator as coordinators
from rlcomponents.nodes import program_checkpoints
from rlcomponents.parameters import layout as layouts
from rlcomponents.runs import disk as disks
from rlcomponents.runs import metrics, node_state, run_folder, worker_report

StoreMaker = Callable[[layouts.ParameterLayout], core.ParameterStore]
"""Opens a node's store once the node knows its network."""


class WorkerFiles(NamedTuple):
    """What a worker writes into the run's folder.

    Attributes:
        state: What it goes on from. Keeps the report's counts.
        report: Its rows.
        watch: Counts what is discarded for not being finite, for the report.
        close: Closes the file of rows.
    """

    state: node_state.NodeState
    report: worker_report.WorkerReport
    watch: finite.Watch
    close: Callable[[], None]


def open_worker_files(config: RunConfig, run_dir: str, name: str) -> WorkerFiles:
    """Opens the files of one worker, which go on where its life before ended.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        name: Of the node, `<group>-<index>`, with which its files begin.
    """
    folder = run_folder.RunFolder(run_dir)
    disk = disks.Disk(print)  # What the screen shows of it, the coordinator says.
    state = node_state.NodeState(
        folder.state / f"{name}.json",
        period_secs=config.checkpoint_period_secs,
        disk=disk,
    )
    writer = metrics.MetricsWriter(
        folder.metrics / f"{name}.csv", metrics.WORKER_COLUMNS, disk=disk
    )
    watch = config.make_watch()
    report = worker_report.WorkerReport(writer, discarded_nonfinite=lambda: watch.count)
    state.keep("counts", report)
    return WorkerFiles(state, report, watch, writer.close)


def make_coordinator(
    config: RunConfig,
    run_dir: str,
    agent: str,
    statistics: Callable[[], core.StoreStatistics],
    shards: Sequence[program_checkpoints.Shard],
    stop_program: Callable[[], None],
    wait_for_stop: core.WaitForStop,
) -> coordinators.Coordinator:
    """Builds the coordinator.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        agent: Its name.
        statistics: Returns the counts of the store.
        shards: What is saved.
        stop_program: Ends the program.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
    """
    return coordinators.Coordinator(
        statistics,
        shards,
        run_folder.RunFolder(run_dir),
        agent=agent,
        environment=config.environment,
        max_steps=config.max_steps,
        frames_per_step=config.frames_per_step,
        replay_capacity_items=config.replay_capacity_items,
        checkpoint_period_secs=config.checkpoint_period_secs,
        num_checkpoints_kept=config.num_checkpoints_kept,
        secs_since=secs_since,
        stop_program=stop_program,
        wait_for_stop=wait_for_stop,
    )


def secs_since(time_secs: float) -> float:
    """Returns the time that passed while this node, started again, was not there."""
    if not pulse.current().starts:
        return 0.0  # The first start of a program: until then the run stood still.
    return max(0.0, time.time() - time_secs)
