"""Counts, logs, saves, and ends the program.

It reads what the parameter shards count and what the workers write into the run
folder, so no worker ever waits for it. It imports no TensorFlow.
"""

import collections
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from acme import core as acme_core

from rlcomponents import core, pulse
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
        clock: Callable[[], float] = time.monotonic,
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
            clock: Returns seconds since any moment.
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
        self._workers: dict[str, metrics.Row] = {}
        # Mean return and number of the games in one row of a worker.
        self._returns: collections.deque[tuple[float, int]] = collections.deque()
        self._evaluation: metrics.Row = {}
        self._progress = _Progress()
        self._next_checkpoint_secs = clock() + checkpoint_period_secs
        self._saved: core.StoreStatistics | None = None

    def step(self) -> bool:
        """Does one round: reads, logs, and saves where it is due.

        Returns:
            Whether the program is at its end.
        """
        statistics, row = self._look()
        self._writer.write(row)
        self._log("program", row, statistics.steps)
        # Workers stand still once the steps are taken; the last evaluation comes then.
        at_end = self._is_spent(statistics) and self._evaluation.get("final") == 1
        is_due = self._clock() >= self._next_checkpoint_secs
        if at_end or (is_due and statistics.updates):
            self._save(statistics)
            self._next_checkpoint_secs = self._clock() + self._checkpoint_period_secs
        self._write_summary("max_steps" if at_end else "running", row)
        return at_end

    def run(self) -> None:
        """Does rounds until the program is at its end, and ends it."""
        try:
            with pulse.current().stepping():
                while not self._wait_for_stop(self._period_secs):
                    at_end = self.step()
                    pulse.current().completed_step()
                    if at_end:
                        self._stop_program()
                        return
            self.stop()
        finally:
            self.close()

    def stop(self) -> None:
        """Saves and sums up once more, where the end comes from elsewhere."""
        statistics, row = self._look()
        if statistics.updates:
            self._save(statistics)
        self._write_summary("stopped", row)

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()
        self._events.close()

    def _look(self) -> tuple[core.StoreStatistics, dict[str, Any]]:
        """Reads whatever is new; returns the counts and the program's row."""
        statistics = self._statistics()
        self._progress.note(self._clock(), statistics)
        self._read_workers(statistics.steps)
        for evaluation in self._evaluation_rows.read_new():
            self._evaluation = evaluation
            self._log("evaluation", evaluation, _number(evaluation, "agent_steps"))
        return statistics, self._program_row(statistics)

    def _is_spent(self, statistics: core.StoreStatistics) -> bool:
        return statistics.steps >= self._max_steps

    def _read_workers(self, steps: int) -> None:
        for name, row in self._worker_rows.read_new():
            if name == self._folder.program_csv.stem:
                continue
            ended = int(
                _number(row, "episodes")
                - _number(self._workers.get(name, {}), "episodes")
            )
            if ended > 0:
                self._returns.append((_number(row, "episode_return"), ended))
            self._workers[name] = row
            # On the program's axis, so that workers can be laid over each other.
            self._log(name, row, steps)
        surplus = sum(count for _, count in self._returns) - _RECENT_EPISODES
        while self._returns and surplus >= self._returns[0][1]:
            surplus -= self._returns.popleft()[1]

    def _log(self, node: str, row: Mapping[str, Any], steps: float) -> None:
        scalars = {name: value for name, value in row.items() if name not in _CLOCKS}
        self._events.write(node, scalars, int(steps))

    def _program_row(self, statistics: core.StoreStatistics) -> dict[str, Any]:
        steps_per_sec, updates_per_sec = self._progress.recent_rates()
        num_returns = sum(number for _, number in self._returns)
        return_sum = sum(mean * number for mean, number in self._returns)
        return {
            "time_secs": time.time(),
            "wall_secs": self._progress.wall_secs,
            "agent_steps": statistics.steps,
            "environment_frames": statistics.steps * self._frames_per_step,
            "updates": statistics.updates,
            "episodes": self._total("episodes"),
            "train_return": return_sum / num_returns if num_returns else None,
            "evaluation_return": self._evaluation.get("mean_return"),
            "mean_staleness_updates": statistics.mean_staleness_updates,
            "discarded_stale": statistics.discarded_stale,
            "discarded_outlier": self._total("discarded_outlier"),
            "discarded_nonfinite": self._total("discarded_nonfinite"),
            "replay_items": self._total("replay_items"),
            "replay_capacity_items": self._replay_capacity_items,
            "steps_per_sec": steps_per_sec,
            "frames_per_sec": steps_per_sec * self._frames_per_step,
            "updates_per_sec": updates_per_sec,
            "waiting": self._waiting(statistics),
        }

    def _waiting(self, statistics: core.StoreStatistics) -> str | None:
        """Says what keeps the counts from going up, where something does."""
        if self._is_spent(statistics):
            return "last evaluation"
        if not self._workers:
            return "workers are starting"
        reasons = [
            f"{name}: {row['waiting']}"
            for name, row in sorted(self._workers.items())
            if row.get("waiting")
        ]
        if len(reasons) > 1:
            return f"{reasons[0]} (and {len(reasons) - 1} more)"
        return reasons[0] if reasons else None

    def _total(self, column: str) -> int:
        return int(sum(_number(row, column) for row in self._workers.values()))

    def _save(self, statistics: core.StoreStatistics) -> None:
        if statistics == self._saved:
            return
        states = [shard.save() for shard in self._shards]
        # As saved: training may have gone on since the statistics were taken.
        agent_steps = int(states[0]["steps"])
        checkpoints.save(
            self._folder.checkpoints,
            agent_steps=agent_steps,
            parts={
                f"parameters_{index}": {
                    name: np.asarray(value) for name, value in state.items()
                }
                for index, state in enumerate(states)
            },
            facts={
                "agent": self._agent,
                "environment": self._environment,
                "agent_steps": agent_steps,
                "updates": int(states[0]["updates"]),
                "num_parameter_shards": len(states),
            },
        )
        self._saved = statistics

    def _write_summary(self, reason: str, row: dict[str, Any]) -> None:
        steps_per_sec, updates_per_sec = self._progress.overall_rates()
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
                discarded_nonfinite=row["discarded_nonfinite"],
                mean_staleness_updates=row["mean_staleness_updates"],
                episodes=row["episodes"],
                train_return=row["train_return"],
                evaluation_return=row["evaluation_return"],
                evaluation_episodes=int(_number(self._evaluation, "episodes")),
                wall_secs=row["wall_secs"],
                steps_per_sec=steps_per_sec,
                frames_per_sec=steps_per_sec * self._frames_per_step,
                updates_per_sec=updates_per_sec,
            ),
        )


class _Moment(NamedTuple):
    """How far the program was."""

    secs: float
    steps: int
    updates: int

    def rates_since(self, earlier: "_Moment") -> tuple[float, float]:
        """Returns steps and updates per second."""
        secs = self.secs - earlier.secs
        if secs <= 0.0:
            return 0.0, 0.0
        steps, updates = self.steps - earlier.steps, self.updates - earlier.updates
        return steps / secs, updates / secs


class _Progress:
    """Speed of the program: now, and from its first agent step to its last."""

    def __init__(self) -> None:
        self._first = _Moment(0.0, 0, 0)  # Before the first step of this program.
        self._last = self._first  # When steps were last seen to grow.
        self._recent: collections.deque[_Moment] = collections.deque()

    def note(self, secs: float, statistics: core.StoreStatistics) -> None:
        """Notes how far the program is now."""
        now = _Moment(secs, statistics.steps, statistics.updates)
        if not self._recent or not now.steps:
            self._first = self._last = now
        elif now.steps > self._last.steps:
            self._last = now
        self._recent.append(now)
        # One from before the window stays: a round may take longer than that.
        window_start_secs = secs - _RATE_WINDOW_SECS
        while len(self._recent) > 1 and self._recent[1].secs <= window_start_secs:
            self._recent.popleft()

    @property
    def wall_secs(self) -> float:
        """Seconds from the first agent step until now."""
        return self._recent[-1].secs - self._first.secs

    def recent_rates(self) -> tuple[float, float]:
        """Returns steps and updates per second, of the last seconds."""
        return self._recent[-1].rates_since(self._recent[0])

    def overall_rates(self) -> tuple[float, float]:
        """Returns them from the first step to the last: not in the last evaluation."""
        return self._last.rates_since(self._first)


def _number(row: Mapping[str, float | str | None], column: str) -> float:
    """Returns a number of a row; 0 where the row has none."""
    value = row.get(column)
    return value if isinstance(value, float) else 0.0
