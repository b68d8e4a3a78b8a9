"""Counts, logs, saves, and ends the program.

It reads what the parameter shards count and what the workers write into the run
folder, so no worker ever waits for it. It imports no TensorFlow.
"""

import collections
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from acme import core as acme_core

from rlcomponents import core
from rlcomponents.runs import checkpoints, events, metrics, run_folder, summary

_RECENT_EPISODES = 100
_RATE_WINDOW_SECS = 10.0
_CLOCKS = ("time_secs", "agent_steps", "final")


class Shard(Protocol):
    """What the coordinator saves: a `parameters.shard.ParameterShard`, or a store."""

    def save(self) -> dict[str, np.ndarray | int]:
        """Returns parameters, target copy, optimiser slots and counts."""


class Coordinator(acme_core.Worker):
    """Watches a program through its parameter shards and its run folder."""

    def __init__(
        self,
        statistics: Callable[[], core.StoreStatistics],
        shards: Sequence[Shard],
        folder: run_folder.RunFolder,
        *,
        agent: str,
        environment: str,
        max_steps: int,
        frames_per_step: int,
        replay_capacity_items: int,
        checkpoint_period_secs: float,
        stop_program: Callable[[], None],
        wait_for_stop: Callable[[float], bool],
        period_secs: float = 1.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Opens the program's own metrics in the run folder.

        Args:
            statistics: Returns the store's counts.
            shards: All parameter shards, in the order of the vector.
            folder: The run's.
            agent: Its name, for the summary.
            environment: Its name, for the summary.
            max_steps: Agent steps of all actors together that end the program.
            frames_per_step: Environment frames of one agent step.
            replay_capacity_items: Transitions that all replays together keep.
            checkpoint_period_secs: Seconds from one checkpoint to the next.
            stop_program: Ends the program.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
            period_secs: Seconds between rounds.
            clock: Returns the time in seconds since 1970.
        """
        self._statistics = statistics
        self._shards = shards
        self._folder = folder
        self._agent = agent
        self._environment = environment
        self._max_steps = max_steps
        self._frames_per_step = frames_per_step
        self._replay_capacity_items = replay_capacity_items
        self._checkpoint_period_secs = checkpoint_period_secs
        self._stop_program = stop_program
        self._wait_for_stop = wait_for_stop
        self._period_secs = period_secs
        self._clock = clock

        self._worker_rows = metrics.MetricsReader(folder.metrics)
        self._evaluation_rows = metrics.MetricsFile(folder.evaluation_csv)
        self._writer = metrics.MetricsWriter(
            folder.program_csv, metrics.PROGRAM_COLUMNS
        )
        self._events = events.EventsWriter(folder.tensorboard)
        self._workers: dict[str, dict[str, Any]] = {}
        self._returns: collections.deque[tuple[float, int]] = collections.deque()
        self._evaluation: dict[str, Any] = {}
        self._history: collections.deque[tuple[float, int, int]] = collections.deque()
        self._next_checkpoint_secs = clock() + checkpoint_period_secs

    def step(self) -> bool:
        """Does one round: reads, logs, and saves where it is due.

        Returns:
            Whether the program is at its end.
        """
        statistics = self._statistics()
        self._read_workers(statistics.steps)
        for evaluation in self._evaluation_rows.read_new():
            self._evaluation = evaluation
            self._log("evaluation", evaluation, evaluation["agent_steps"])
        row = self._program_row(statistics)
        self._writer.write(row)
        self._log("program", row, statistics.steps)
        # Workers stand still once the steps are taken; the last evaluation comes then.
        at_end = (
            statistics.steps >= self._max_steps and self._evaluation.get("final") == 1
        )
        is_due = row["time_secs"] >= self._next_checkpoint_secs
        if at_end or (is_due and statistics.updates):
            self._save(statistics)
            self._next_checkpoint_secs = row["time_secs"] + self._checkpoint_period_secs
        self._write_summary("max_steps" if at_end else "running", row)
        return at_end

    def run(self) -> None:
        """Does rounds until the program is at its end, and ends it."""
        try:
            while not self._wait_for_stop(self._period_secs):
                if self.step():
                    self._stop_program()
                    return
            self.stop()
        finally:
            self.close()

    def stop(self) -> None:
        """Saves and sums up once more, where the end comes from elsewhere."""
        statistics = self._statistics()
        self._read_workers(statistics.steps)
        if statistics.updates:
            self._save(statistics)
        self._write_summary("stopped", self._program_row(statistics))

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()
        self._events.close()

    def _read_workers(self, steps: int) -> None:
        for name, row in self._worker_rows.read_new():
            if name == "program":
                continue
            before = self._workers.get(name, {}).get("episodes") or 0
            ended = int((row["episodes"] or 0) - before)
            if ended > 0 and row["episode_return"] is not None:
                self._returns.append((row["episode_return"], ended))
            self._workers[name] = row
            # On the program's axis, so that workers can be laid over each other.
            self._log(name, row, steps)
        surplus = sum(count for _, count in self._returns) - _RECENT_EPISODES
        while self._returns and surplus >= self._returns[0][1]:
            surplus -= self._returns.popleft()[1]

    def _log(self, node: str, row: dict[str, Any], steps: float) -> None:
        scalars = {name: value for name, value in row.items() if name not in _CLOCKS}
        self._events.write(node, scalars, int(steps))

    def _program_row(self, statistics: core.StoreStatistics) -> dict[str, Any]:
        now = self._clock()
        if statistics.steps or self._history:
            self._history.append((now, statistics.steps, statistics.updates))
        recent = [
            entry for entry in self._history if entry[0] >= now - _RATE_WINDOW_SECS
        ]
        steps_per_sec, updates_per_sec = _rates(recent)
        counted = sum(count for _, count in self._returns)
        waiting = [
            f"{name}: {row['waiting']}"
            for name, row in sorted(self._workers.items())
            if row["waiting"]
        ]
        return {
            "time_secs": now,
            "wall_secs": now - self._history[0][0] if self._history else 0.0,
            "agent_steps": statistics.steps,
            "environment_frames": statistics.steps * self._frames_per_step,
            "updates": statistics.updates,
            "episodes": self._total("episodes"),
            "train_return": (
                sum(value * count for value, count in self._returns) / counted
                if counted
                else None
            ),
            "evaluation_return": self._evaluation.get("mean_return"),
            "mean_staleness_updates": statistics.mean_staleness_updates,
            "discarded_stale": statistics.discarded_stale,
            "discarded_outlier": self._total("discarded_outlier"),
            "replay_items": self._total("replay_items"),
            "replay_capacity_items": self._replay_capacity_items,
            "steps_per_sec": steps_per_sec,
            "frames_per_sec": steps_per_sec * self._frames_per_step,
            "updates_per_sec": updates_per_sec,
            "waiting": "; ".join(waiting) or None,
        }

    def _total(self, column: str) -> int:
        return int(sum(row[column] or 0 for row in self._workers.values()))

    def _save(self, statistics: core.StoreStatistics) -> None:
        checkpoints.save(
            self._folder.checkpoints,
            agent_steps=statistics.steps,
            parts={
                f"parameters_{index}": shard.save()
                for index, shard in enumerate(self._shards)
            },
            facts={
                "agent": self._agent,
                "environment": self._environment,
                "agent_steps": statistics.steps,
                "updates": statistics.updates,
                "num_parameter_shards": len(self._shards),
            },
        )

    def _write_summary(self, reason: str, row: dict[str, Any]) -> None:
        steps_per_sec, updates_per_sec = _rates(list(self._history))
        summary.write(
            self._folder.summary_json,
            summary.Summary(
                reason=reason,
                environment=self._environment,
                agent=self._agent,
                agent_steps=row["agent_steps"],
                environment_frames=row["environment_frames"],
                updates=row["updates"],
                discarded_stale=row["discarded_stale"],
                discarded_outlier=row["discarded_outlier"],
                mean_staleness_updates=row["mean_staleness_updates"],
                episodes=row["episodes"],
                train_return=row["train_return"],
                evaluation_return=row["evaluation_return"],
                evaluation_episodes=int(self._evaluation.get("episodes") or 0),
                wall_secs=row["wall_secs"],
                steps_per_sec=steps_per_sec,
                frames_per_sec=steps_per_sec * self._frames_per_step,
                updates_per_sec=updates_per_sec,
                restarts=[],
            ),
        )


def _rates(history: Sequence[tuple[float, int, int]]) -> tuple[float, float]:
    """Returns steps and updates per second over `(secs, steps, updates)` entries."""
    if len(history) < 2:
        return 0.0, 0.0
    (start, start_steps, start_updates), (end, steps, updates) = history[0], history[-1]
    if end <= start:
        return 0.0, 0.0
    return (steps - start_steps) / (end - start), (updates - start_updates) / (
        end - start
    )
