"""Counts, logs, saves, and ends the program.

It reads what the parameter shards count and what the workers write into the run
folder, so no worker ever waits for it. One that starts again, or in a resumed run,
finds there how far the run had come. It imports no TensorFlow.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acme import core as acme_core

from rlcomponents import core, pulse
from rlcomponents.nodes import (
    program_checkpoints,
    program_speed,
    wall_time,
    worker_totals,
)
from rlcomponents.runs import disk as disks
from rlcomponents.runs import events, metrics, run_folder, summary

_CLOCKS = ("time_secs", "agent_steps", "final")
_RUNNING = "running"  # Until the run ends, in place of a reason.


class Coordinator(acme_core.Worker):
    """Watches a program through its parameter shards and its run folder."""

    def __init__(
        self,
        statistics: Callable[[], core.StoreStatistics],
        shards: Sequence[program_checkpoints.Shard],
        folder: run_folder.RunFolder,
        *,
        agent: str,
        environment: str,
        max_steps: int,
        frames_per_step: int,
        replay_capacity_items: int,
        checkpoint_period_secs: float,
        stop_program: Callable[[], None],
        wait_for_stop: core.WaitForStop,
        num_checkpoints_kept: int = 2,
        secs_since: Callable[[float], float] = lambda time_secs: 0.0,
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
            num_checkpoints_kept: How many of the newest are kept.
            secs_since: See `wall_time.secs_until_now`.
            period_secs: Seconds between rounds.
            clock: Returns seconds since any moment.
        """
        self._statistics = statistics
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

        earlier = metrics.read_last(folder.program_csv)
        steps = int(metrics.number(earlier, "agent_steps"))
        self._furthest = core.StoreStatistics(
            steps,
            int(metrics.number(earlier, "updates")),
            int(metrics.number(earlier, "discarded_stale")),
            metrics.number(earlier, "mean_staleness_updates"),
        )
        # Steps of the run when it is seen to go on. None: that is not known yet.
        self._start_steps = None if earlier else 0
        self._speed = program_speed.ProgramSpeed(
            wall_secs=wall_time.secs_until_now(earlier, secs_since) if earlier else None
        )
        self._workers = worker_totals.WorkerTotals(folder, earlier)
        self._evaluation_rows = metrics.MetricsFile(folder.evaluation_csv)
        evaluations = self._evaluation_rows.read_new()
        self._evaluation: metrics.Row = {}  # The last one.
        self._best_evaluation: metrics.Row = {}
        for evaluation in evaluations:
            self._note_evaluation(evaluation)
        self._goes_on = bool(earlier)
        self._disk = disks.Disk()
        self._writer = metrics.MetricsWriter(
            folder.program_csv, metrics.PROGRAM_COLUMNS, disk=self._disk
        )
        self._events = events.EventsWriter(
            folder.tensorboard,
            first_step=steps + 1 if earlier else None,
            disk=self._disk,
        )
        with contextlib.suppress(ValueError):  # Programs may come without settings.
            self._events.write_settings(folder.read_config())
        self._checkpoints = program_checkpoints.ProgramCheckpoints(
            folder,
            shards,
            facts={"agent": agent, "environment": environment},
            num_kept=num_checkpoints_kept,
        )
        self._next_checkpoint_secs = clock() + checkpoint_period_secs
        self._last_row: dict[str, Any] | None = None

    def step(self) -> bool:
        """Does one round: reads, logs, and saves where it is due.

        Returns:
            Whether the program is at its end.
        """
        statistics, row = self._look()
        self._last_row = row
        if not (self._is_starting(statistics) and self._goes_on):
            self._write_row(row)
        at_end = self._is_at_end(statistics)
        is_due = self._clock() >= self._next_checkpoint_secs
        if at_end or (is_due and statistics.updates):
            self._save()
            self._next_checkpoint_secs = self._clock() + self._checkpoint_period_secs
        self._write_summary(summary.MAX_STEPS if at_end else _RUNNING, row)
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
        except core.StoreUnavailableError as error:
            # A store waits for shards that are away until a stop is asked for.
            if not self._wait_for_stop(0):
                raise
            pulse.current().say(f"No last checkpoint, the one before stays: {error}")
            if self._last_row is not None:
                self._write_summary("stopped", self._last_row)
        finally:
            self.close()

    def stop(self) -> None:
        """Saves and sums up once more, where the end comes from elsewhere."""
        statistics, row = self._look()
        if not self._is_starting(statistics):
            self._write_row(row)
        if statistics.updates:
            self._save()
        # A stop between the last evaluation and the next round changes no result.
        at_end = self._is_at_end(statistics)
        self._write_summary(summary.MAX_STEPS if at_end else "stopped", row)

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()
        self._events.close()

    def _look(self) -> tuple[core.StoreStatistics, dict[str, Any]]:
        """Reads whatever is new; returns the counts and the program's row."""
        statistics = self._statistics()
        waiting = None
        if statistics.steps < self._furthest.steps:
            # A store that was restored, or is about to be: counts in files never fall.
            waiting = f"parameters are behind, at step {statistics.steps:,}"
            statistics = self._furthest
        elif self._start_steps is None:
            self._start_steps = statistics.steps
        self._furthest = statistics
        is_starting = self._is_starting(statistics)
        self._speed.note(self._clock(), statistics, is_starting=is_starting)
        for name, worker_row in self._workers.read_new():
            # On the program's axis, so that workers can be laid over each other.
            self._log(name, worker_row, statistics.steps)
        for evaluation in self._evaluation_rows.read_new():
            self._note_evaluation(evaluation)
            steps = int(metrics.number(evaluation, "agent_steps"))
            self._log("evaluation", evaluation, steps)
            gif = b""  # As a power cut leaves a film that was not on the disk yet.
            # Not all are filmed; what prevents it, the evaluator has said.
            with contextlib.suppress(OSError):
                gif = self._folder.video_gif(steps).read_bytes()
            if gif:
                self._events.write_video("evaluation", gif, steps)
        return statistics, self._program_row(statistics, waiting)

    def _note_evaluation(self, evaluation: metrics.Row) -> None:
        self._evaluation = evaluation
        best = self._best_evaluation
        # As `BestParameters` has it: the first of equals.
        if not best or metrics.number(evaluation, "mean_return") > metrics.number(
            best, "mean_return"
        ):
            self._best_evaluation = evaluation

    def _is_starting(self, statistics: core.StoreStatistics) -> bool:
        return self._start_steps is None or statistics.steps <= self._start_steps

    def _is_spent(self, statistics: core.StoreStatistics) -> bool:
        return statistics.steps >= self._max_steps

    def _is_at_end(self, statistics: core.StoreStatistics) -> bool:
        # Workers stand still once the steps are taken; the last evaluation comes then.
        return (
            self._is_spent(statistics)
            and self._evaluation.get("final") == 1
            # Not that of a smaller budget, which the run has gone on from.
            and metrics.number(self._evaluation, "agent_steps") >= self._max_steps
        )

    def _write_row(self, row: Mapping[str, Any]) -> None:
        self._writer.write(row)
        self._log("program", row, row["agent_steps"])

    def _log(self, node: str, row: Mapping[str, Any], steps: float) -> None:
        scalars = {name: value for name, value in row.items() if name not in _CLOCKS}
        self._events.write(node, scalars, int(steps))

    def _program_row(
        self, statistics: core.StoreStatistics, waiting: str | None
    ) -> dict[str, Any]:
        steps_per_sec, updates_per_sec = self._speed.recent_rates()
        if self._is_spent(statistics):
            waiting = "last evaluation"
        return {
            "time_secs": time.time(),
            "wall_secs": self._speed.wall_secs,
            "agent_steps": statistics.steps,
            "environment_frames": statistics.steps * self._frames_per_step,
            "updates": statistics.updates,
            "episodes": self._workers.count("episodes"),
            "train_return": self._workers.recent_return,
            "evaluation_return": self._evaluation.get("mean_return"),
            "mean_staleness_updates": statistics.mean_staleness_updates,
            "discarded_stale": statistics.discarded_stale,
            "discarded_outlier": self._workers.count("discarded_outlier"),
            "discarded_lost": self._workers.count("discarded_lost"),
            "discarded_nonfinite": self._workers.count("discarded_nonfinite"),
            "replay_items": self._workers.replay_items,
            "replay_capacity_items": self._replay_capacity_items,
            "steps_per_sec": steps_per_sec,
            "frames_per_sec": steps_per_sec * self._frames_per_step,
            "updates_per_sec": updates_per_sec,
            "waiting": waiting or self._workers.waiting,
        }

    def _save(self) -> None:
        with self._disk.survived(str(self._folder.checkpoints)):
            self._checkpoints.save()

    def _write_summary(self, reason: str, row: dict[str, Any]) -> None:
        steps_per_sec, updates_per_sec = self._speed.overall_rates()
        with self._disk.survived(str(self._folder.summary_json)):
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
                    **_evaluation_fields("evaluation", self._evaluation),
                    **_evaluation_fields("best_evaluation", self._best_evaluation),
                    wall_secs=row["wall_secs"],
                    steps_per_sec=steps_per_sec,
                    frames_per_sec=steps_per_sec * self._frames_per_step,
                    updates_per_sec=updates_per_sec,
                ),
                # The next round's is as good; the end is told once.
                lasting=reason != _RUNNING,
            )


def _evaluation_fields(name: str, evaluation: metrics.Row) -> dict[str, Any]:
    """Returns an evaluation as the summary has it."""
    return {
        f"{name}_return": evaluation.get("mean_return"),
        f"{name}_episodes": int(metrics.number(evaluation, "episodes")),
        f"{name}_standard_error": evaluation.get("standard_error"),
        f"{name}_agent_steps": int(metrics.number(evaluation, "agent_steps")),
    }
