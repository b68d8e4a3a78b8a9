"""Plays episodes with the newest parameters, now and then and at the end.

One that starts again, or in a resumed run, goes on after the evaluations that there
are: none is repeated.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import dm_env
from acme import core as acme_core

from rlcomponents import core, finite, pulse
from rlcomponents.evaluation import episodes
from rlcomponents.nodes import best_parameters, evaluation_videos
from rlcomponents.runs import metrics


class Evaluator(acme_core.Worker):
    """Evaluates every so many agent steps, and once more when the budget is spent.

    Attributes:
        finished: Whether the last evaluation has been reported.
    """

    def __init__(
        self,
        pull: Callable[[], core.Snapshot],
        count_steps: Callable[[], int],
        environment: dm_env.Environment,
        actor: acme_core.Actor,
        reporter: core.Reporter,
        *,
        period_steps: int,
        num_episodes: int,
        final_num_episodes: int,
        max_steps: int,
        max_episode_steps: int,
        wait_for_stop: core.WaitForStop,
        wall_secs: Callable[[], float],
        poll_secs: float = 0.5,
        watch: finite.Watch | None = None,
        best: best_parameters.BestParameters | None = None,
        videos: evaluation_videos.EvaluationVideos | None = None,
        last: Mapping[str, Any] | None = None,
    ) -> None:
        """Stores its parts.

        Args:
            pull: Refreshes the actor's parameters and says as of which step they are.
            count_steps: Says how far training is; asked at every look, without the
                parameters, which are megabytes.
            environment: Played for whole games, apart from training.
            actor: Acts as evaluation asks for, and keeps no experience.
            reporter: Takes rows of `runs.metrics.EVALUATION_COLUMNS`.
            period_steps: Agent steps of training from one evaluation to the next.
            num_episodes: Episodes of each.
            final_num_episodes: Episodes of the last one.
            max_steps: Agent steps after which the last one is due.
            max_episode_steps: Agent steps after which an episode is cut.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
            wall_secs: Returns the seconds that the run has taken, on the clock of the
                whole program: see `wall_time.WallTime`.
            poll_secs: Seconds between looks at the step count.
            watch: Counts games discarded for not being finite. None: one of its own.
            best: Keeps the best parameters. None: nobody does.
            videos: Films the first game of some evaluations. None: nobody does.
            last: Row of the last evaluation before this node started, if there was one.
        """
        self._pull = pull
        self._count_steps = count_steps
        self._environment = environment
        self._actor = actor
        self._reporter = reporter
        self._period_steps = period_steps
        self._num_episodes = num_episodes
        self._final_num_episodes = final_num_episodes
        self._max_steps = max_steps
        self._max_episode_steps = max_episode_steps
        self._wait_for_stop = wait_for_stop
        self._poll_secs = poll_secs
        self._wall_secs = wall_secs
        watch = watch or finite.Watch()
        self._guard = watch.guard(part="evaluation", advice=finite.MEND_ENVIRONMENT)
        self._best = best
        self._videos = videos
        last_steps = int(metrics.number(last or {}, "agent_steps"))
        self._next_steps = last_steps + period_steps
        self._unwritten: dict[str, Any] | None = None  # Row of the last evaluation.
        self.finished = (last or {}).get("final") == 1 and last_steps >= max_steps

    def step(self) -> bool:
        """Evaluates where it is due.

        Returns:
            Whether it did. An evaluation that a stop cuts short is not reported: the
            games that were over by then are the short ones. One that the disk does not
            take is reported before there is another: the program ends by the last one.
        """
        if self._unwritten is not None:
            self._report()
        if self.finished or self._unwritten is not None:
            return False
        if not self._is_due(self._count_steps()):
            return False
        snapshot = self._pull()
        if not self._is_due(snapshot.steps):  # A store that lost steps in between.
            return False
        final = snapshot.steps >= self._max_steps
        wall_secs = self._wall_secs()  # The games are no part of what they score.
        num_episodes = self._final_num_episodes if final else self._num_episodes
        film = None
        if self._videos is not None:
            film = self._videos.begin(snapshot.steps, final=final)
        results = episodes.play_episodes(
            self._environment,
            self._actor,
            num_episodes,
            max_episode_steps=self._max_episode_steps,
            should_stop=lambda: self._wait_for_stop(0),
            guard=self._guard,
            watch=film,
        )
        if len(results.returns) < num_episodes:
            return False
        self._next_steps = snapshot.steps + self._period_steps
        if self._best is not None:
            self._best.offer(snapshot, results.mean)
        if self._videos is not None:
            self._videos.save(snapshot.steps)  # Before the row that tells of it.
        error = results.standard_error
        self._unwritten = {
            "time_secs": time.time(),
            "wall_secs": wall_secs,
            "agent_steps": snapshot.steps,
            "updates": snapshot.updates,
            "episodes": len(results.returns),
            "mean_return": results.mean,
            "standard_error": None if math.isnan(error) else error,
            "final": int(final),
        }
        self._report()
        pulse.current().completed_step()
        return True

    def run(self) -> None:
        """Evaluates until the last evaluation is done, or a stop is asked for."""
        try:
            while not self.finished and not self._wait_for_stop(0):
                if not self.step():
                    self._wait_for_stop(self._poll_secs)
        except core.StoreUnavailableError:
            # A store waits for shards that are away until a stop is asked for.
            if not self._wait_for_stop(0):
                raise
        finally:
            self.close()

    def _is_due(self, steps: int) -> bool:
        return steps >= min(self._next_steps, self._max_steps)

    def _report(self) -> None:
        """Writes the row of the last evaluation, if the disk takes it."""
        assert self._unwritten is not None
        if self._reporter.write(self._unwritten):
            self.finished = self._unwritten["final"] == 1
            self._unwritten = None

    def close(self) -> None:
        """Closes environment and report."""
        self._environment.close()
        self._reporter.close()
