"""Steps of each kind of worker, each with its row of numbers a second.

Each `step` does the work of one turn, and returns the agent steps of all actors
together as far as the worker knows, which is what `worker.SteppedWorker` asks for. The
turn that sees them reach `max_steps` writes a row too, so that no count stays unsaid.
"""

from collections.abc import Callable

from rlcomponents import environment_loop, pulse
from rlcomponents.actors import store_sync
from rlcomponents.learners import actor_learner as actor_learners
from rlcomponents.learners import async_worker, dqn
from rlcomponents.runs import worker_report


class ReportingActor:
    """One agent step a turn: act, insert, and pull when it is time."""

    def __init__(
        self,
        loop: environment_loop.EnvironmentLoop,
        sync: store_sync.StoreSync,
        report: worker_report.WorkerReport,
        *,
        epsilon: Callable[[], float],
        max_steps: int,
    ) -> None:
        """Stores its parts.

        Args:
            loop: Acts.
            sync: Keeps the actor's parameters fresh.
            report: Takes the counts.
            epsilon: Returns the chance of a random action now, for the report.
            max_steps: Agent steps of all actors together at which the last row is due.
        """
        self._loop = loop
        self._sync = sync
        self._report = report
        self._epsilon = epsilon
        self._max_steps = max_steps

    def step(self) -> int:
        """Takes one agent step."""
        episode = self._loop.step()
        self._sync.step()
        self._report.add_steps(1)
        if episode is not None:
            self._report.add_episode(episode.episode_return)
        global_steps = self._sync.snapshot.steps
        if self._report.is_due() or global_steps >= self._max_steps:
            self._report.write(epsilon=self._epsilon())
        pulse.current().completed_step()
        return global_steps


class ReportingLearner:
    """One gradient a turn, or a wait for replay."""

    def __init__(
        self,
        learner: dqn.DQNLearner,
        report: worker_report.WorkerReport,
        *,
        replay_items: Callable[[], int] | None,
        min_replay_items: int,
        max_steps: int,
    ) -> None:
        """Stores its parts.

        Args:
            learner: Learns.
            report: Takes the counts.
            replay_items: Counts the transitions in all replays, for the report. One
                learner of a program does so.
            min_replay_items: Transitions without which replay gives no batch.
            max_steps: See `ReportingActor`.
        """
        self._learner = learner
        self._report = report
        self._replay_items = replay_items
        self._min_replay_items = min_replay_items
        self._max_steps = max_steps

    def step(self) -> int:
        """Does one learner step."""
        learner_step = self._learner.step()
        if learner_step is None:
            self._learner.pull()  # Else it would not hear that the budget is spent.
        else:
            _add_update(self._report, learner_step)
            pulse.current().completed_step()
        global_steps = self._learner.snapshot.steps
        if self._report.is_due() or global_steps >= self._max_steps:
            items = self._replay_items() if self._replay_items is not None else None
            waiting = None
            if learner_step is None:
                waiting = _waiting_for_replay(items, self._min_replay_items)
            self._report.write(replay_items=items, waiting=waiting)
        return global_steps


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
        max_steps: int,
    ) -> None:
        """Stores its parts.

        Args:
            actor_learner: Acts and learns.
            report: Takes the counts.
            epsilon: See `ReportingActor`.
            replay_items: Counts the transitions in this worker's replay.
            min_replay_items: Transitions without which it gives no batch.
            max_steps: See `ReportingActor`.
        """
        self._actor_learner = actor_learner
        self._report = report
        self._epsilon = epsilon
        self._replay_items = replay_items
        self._min_replay_items = min_replay_items
        self._max_steps = max_steps

    def step(self) -> int:
        """Takes one agent step, and a learner step where one is due."""
        step = self._actor_learner.step()
        self._report.add_steps(1)
        if step.episode is not None:
            self._report.add_episode(step.episode.episode_return)
        if step.learner is not None:
            _add_update(self._report, step.learner)
        global_steps = self._actor_learner.global_steps
        if self._report.is_due() or global_steps >= self._max_steps:
            items = self._replay_items()
            waiting = None
            if items < self._min_replay_items:
                waiting = _waiting_for_replay(items, self._min_replay_items)
            self._report.write(
                epsilon=self._epsilon(), replay_items=items, waiting=waiting
            )
        pulse.current().completed_step()
        return global_steps


class ReportingAsyncWorker:
    """One rollout a turn, and its gradient: a turn of the asynchronous methods."""

    def __init__(
        self,
        worker: async_worker.AsyncWorker,
        report: worker_report.WorkerReport,
        *,
        max_steps: int,
    ) -> None:
        """Stores its parts; see `ReportingActor`."""
        self._worker = worker
        self._report = report
        self._max_steps = max_steps

    def step(self) -> int:
        """Plays one rollout and pushes its gradient."""
        step = self._worker.step()
        self._report.add_steps(step.steps)
        for episode in step.episodes:
            self._report.add_episode(episode.episode_return)
        _add_update(self._report, step)
        global_steps = self._worker.snapshot.steps + step.steps
        if self._report.is_due() or global_steps >= self._max_steps:
            self._report.write(epsilon=self._worker.epsilon)
        pulse.current().completed_step()
        return global_steps


def _add_update(
    report: worker_report.WorkerReport,
    step: dqn.LearnerStep | async_worker.WorkerStep,
) -> None:
    if step.loss is not None:
        report.add_update(step.loss, step.push)


def _waiting_for_replay(num_items: int | None, min_items: int) -> str:
    if num_items is None:
        return f"waiting for replay: {min_items} items needed"
    if num_items < min_items:
        return f"waiting for replay: {num_items} of {min_items} items"
    return "waiting for new items in replay"
