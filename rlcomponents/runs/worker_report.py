"""Gathers what a worker does, and writes it as one row a second."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from rlcomponents import core, pulse


class WorkerReport:
    """Counts of one worker, for rows of `metrics.WORKER_COLUMNS` and for its pulse.

    Counts are since the start of the node, or go on from those of its life before;
    losses and returns are means over what came since the previous row. Not thread-safe.
    """

    def __init__(
        self,
        reporter: core.Reporter,
        *,
        discarded_nonfinite: Callable[[], int] = lambda: 0,
        period_secs: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts the counts at 0.

        Args:
            reporter: Takes the rows.
            discarded_nonfinite: Counts what was discarded for not being finite.
            period_secs: Seconds from one row to the next.
            clock: Returns seconds since any moment.
        """
        self._reporter = reporter
        self._discarded_nonfinite = discarded_nonfinite
        self._period_secs = period_secs
        self._clock = clock
        self._next_secs = clock()
        self._returns: list[float] = []
        self._losses: list[float] = []
        self._staleness_updates: list[int] = []
        self._discarded_stale = 0  # Of this life; the shards count it for the record.
        self._life = pulse.current()
        self._counts = {
            "agent_steps": 0,
            "episodes": 0,
            "updates": 0,
            "discarded_outlier": 0,
            "discarded_lost": 0,
            "discarded_nonfinite": 0,
        }

    def add_steps(self, steps: int) -> None:
        """Notes agent steps."""
        self._counts["agent_steps"] += steps
        self._life.show(agent_steps=self._counts["agent_steps"])

    def add_episode(self, episode_return: float) -> None:
        """Notes the raw score of a game that ended."""
        self._counts["episodes"] += 1
        self._returns.append(episode_return)

    def add_update(self, loss: float, push: core.PushResult | None) -> None:
        """Notes a gradient: one that was pushed, or one discarded as an outlier.

        Args:
            loss: Mean loss of its batch.
            push: What the shards did with it. None: it was an outlier.
        """
        self._counts["discarded_outlier" if push is None else "updates"] += 1
        self._losses.append(loss)
        if push is not None:
            self._counts["discarded_lost"] += push.lost
            self._discarded_stale += push.discarded
            self._staleness_updates += push.staleness_updates
        self._life.show(updates=self._counts["updates"])

    def save(self) -> dict[str, Any]:
        """Returns the counts."""
        return self._all_counts()

    def restore(self, state: dict[str, Any]) -> None:
        """Lets the counts go on from those that `save` returned."""
        self._counts.update({name: int(state.get(name, 0)) for name in self._counts})

    def is_due(self) -> bool:
        """Whether a row should be written now."""
        return self._clock() >= self._next_secs

    def write(self, **values: float | int | str | None) -> None:
        """Writes a row now.

        Args:
            **values: Further columns, as they are now.
        """
        self._reporter.write(
            {
                "time_secs": time.time(),
                **self._all_counts(),
                "episode_return": _mean(self._returns),
                "loss": _mean(self._losses),
                **values,
            }
        )
        if self._counts["updates"]:
            self._life.show(
                staleness_updates=_mean(self._staleness_updates),
                discarded=self._counts["discarded_outlier"]
                + self._all_counts()["discarded_nonfinite"]
                + self._discarded_stale,
            )
        self._returns, self._losses, self._staleness_updates = [], [], []
        self._next_secs = self._clock() + self._period_secs

    def _all_counts(self) -> dict[str, int]:
        discarded = self._counts["discarded_nonfinite"] + self._discarded_nonfinite()
        return {**self._counts, "discarded_nonfinite": discarded}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
