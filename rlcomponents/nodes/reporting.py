"""Steps of the three kinds of worker, each with its row of numbers a second.

Each `step` does the work of one turn, and returns the agent steps of all actors
together as far as the worker knows, which is what `worker.SteppedWorker` asks for.
"""

from collections.abc import Callable

from rlcomponents import environment_loop as loops
from rlcomponents.actors import store_sync
from rlcomponents.learners import actor_learner as actor_learners
from rlcomponents.learners import dqn
from rlcomponents.runs import worker_report


class ReportingActor:
    """One agent step a turn: act, insert, and pull when it is time."""

    def __init__(
        self,
        loop: loops.EnvironmentLoop,
        sync: store_sync.StoreSync,
        report: worker_report.WorkerReport,
        *,
        epsilon: Callable[[], float],
    ) -> None:
        """Stores its parts; `epsilon` is only reported."""
        self._loop = loop
        self._sync = sync
        self._report = report
        self._epsilon = epsilon

    def step(self) -> int:
        """Takes one agent step."""
        episode = self._loop.step()
        self._sync.step()
        self._report.add_steps(1)
        if episode is not None:
            self._report.add_episode(episode.episode_return)
        if self._report.is_due():
            self._report.write(epsilon=self._epsilon())
        return self._sync.snapshot.steps


class ReportingLearner:
    """One gradient a turn, or a wait for replay."""

    def __init__(
        self,
        learner: dqn.DQNLearner,
        report: worker_report.WorkerReport,
        *,
        replay_items: Callable[[], int] | None,
        min_replay_items: int,
    ) -> None:
        """Stores its parts.

        Args:
            learner: Learns.
            report: Takes the counts.
            replay_items: Counts the transitions in all replays, for the report. One
                learner of a program does so.
            min_replay_items: Transitions without which replay gives no batch.
        """
        self._learner = learner
        self._report = report
        self._replay_items = replay_items
        self._min_replay_items = min_replay_items

    def step(self) -> int:
        """Does one learner step."""
        note_learner_step(self._report, self._learner.step(), self._min_replay_items)
        if self._report.is_due():
            items = self._replay_items() if self._replay_items is not None else None
            self._report.write(replay_items=items)
        return self._learner.snapshot.steps


class ReportingActorLearner:
    """One agent step a turn, and a gradient where one is due: a bundle's turn."""

    def __init__(
        self,
        actor_learner: actor_learners.ActorLearner,
        report: worker_report.WorkerReport,
        *,
        epsilon: Callable[[], float],
        replay_items: Callable[[], int],
        min_replay_items: int,
    ) -> None:
        """Stores its parts; see `ReportingActor` and `ReportingLearner`."""
        self._actor_learner = actor_learner
        self._report = report
        self._epsilon = epsilon
        self._replay_items = replay_items
        self._min_replay_items = min_replay_items

    def step(self) -> int:
        """Takes one agent step, and a learner step where one is due."""
        step = self._actor_learner.step()
        self._report.add_steps(1)
        if step.episode is not None:
            self._report.add_episode(step.episode.episode_return)
        if step.learner_was_due:
            note_learner_step(self._report, step.learner, self._min_replay_items)
        if self._report.is_due():
            self._report.write(
                epsilon=self._epsilon(), replay_items=self._replay_items()
            )
        return self._actor_learner.global_steps


def note_learner_step(
    report: worker_report.WorkerReport,
    step: dqn.LearnerStep | None,
    min_replay_items: int,
) -> None:
    """Notes what came of a learner's turn; None means that replay gave no batch."""
    if step is None:
        report.set_waiting(f"waiting for replay ({min_replay_items} items to start)")
    else:
        report.add_update(step.loss, outlier=step.push is None)
