"""One actor-learner of the asynchronous methods: rollout, gradient, lock-free update.

The four algorithms of the paper differ in a strategy object, not in this loop.
"""

from typing import NamedTuple, Protocol

import numpy as np

from rlcomponents import core, finite
from rlcomponents import environment_loop as loops
from rlcomponents.learners import rollouts, target_copy
from rlcomponents.parameters import gradients, tf_variables


class Strategy(rollouts.Policy, Protocol):
    """How an algorithm acts, what it bootstraps from, and its loss.

    Attributes:
        variables: The worker's copy of the parameters.
        target_variables: Its copy of the target parameters; None without such.
        keeps_next_action: Whether the gradient needs the action that follows the
            rollout.
        epsilon: Chance of a random action now; None where it does not act so.
        rng: What its actions are drawn from.
    """

    variables: tf_variables.FlatVariables
    target_variables: tf_variables.FlatVariables | None
    keeps_next_action: bool
    epsilon: float | None
    rng: np.random.Generator

    def gradient(self, rollout: rollouts.Rollout) -> tuple[float, np.ndarray]:
        """Returns the loss and its gradient, `[num_parameters]` float32.

        Summed over steps and environments: what a worker for each environment would
        push, added up.
        """

    def set_progress(self, steps: int) -> None:
        """Learns of the agent steps of all workers, for what is annealed."""


class WorkerStep(NamedTuple):
    """What came of one rollout.

    Attributes:
        steps: Agent steps taken.
        loss: Of the rollout. None where it or its gradient was not finite, or there was
            no rollout (see `rollouts.Collected`); then nothing was pushed.
        push: The store's verdict, where a gradient was pushed.
        episodes: Games that ended.
    """

    steps: int
    loss: float | None
    push: core.PushResult | None
    episodes: tuple[loops.EpisodeEnd, ...]


class AsyncWorker:
    """Pulls, plays a rollout, computes one gradient and pushes it. Not thread-safe.

    Attributes:
        snapshot: What the last pull returned, at the start of the last rollout.

    Reference:
        Mnih et al. 2016, Algorithms 1, S2 and S3: https://arxiv.org/abs/1602.01783.
        Differs: one-step methods act and learn with a copy that is pulled before each
        rollout, where the paper reads the shared parameters at every step.
    """

    def __init__(
        self,
        collector: rollouts.RolloutCollector,
        strategy: Strategy,
        store: core.ParameterStore,
        *,
        watch: finite.Watch | None = None,
    ) -> None:
        """Offers the strategy's values as initial parameters, and pulls once.

        Args:
            collector: Plays with the same strategy.
            strategy: The algorithm.
            store: Where parameters come from and gradients go.
            watch: Counts what is discarded. None: one of its own.
        """
        self._collector = collector
        self._strategy = strategy
        self._store = store
        self._target: target_copy.TargetCopy | None = None
        if strategy.target_variables is not None:
            self._target = target_copy.TargetCopy(store, strategy.target_variables)
        watch = watch or finite.Watch()
        self._guard = watch.guard(advice=finite.MEND_LEARNING)
        store.initialise(strategy.variables.vector())
        self._pull()

    @property
    def epsilon(self) -> float | None:
        """The strategy's, for reports."""
        return self._strategy.epsilon

    def step(self) -> WorkerStep:
        """Plays one rollout and pushes its gradient.

        Its agent steps count at the store, whatever becomes of it.

        Raises:
            finite.NonFiniteError: Too many rollouts or gradients in a row were not
                finite.
        """
        snapshot = self._pull()
        rollout, episodes, steps = self._collector.collect(
            keep_next_action=self._strategy.keeps_next_action
        )
        if rollout is None:
            self._store.add_steps(steps)
            return WorkerStep(steps, None, None, episodes)
        loss, gradient = self._strategy.gradient(rollout)
        problem = gradients.describe_non_finite(
            loss, gradient, self._strategy.variables.layout
        )
        if problem is not None:
            self._store.add_steps(steps)
            self._guard.discard(f"update {snapshot.updates}", problem)
            return WorkerStep(steps, None, None, episodes)
        self._guard.accept()
        push = self._store.push(gradient, snapshot.versions, steps)
        return WorkerStep(steps, loss, push, episodes)

    def _pull(self) -> core.Snapshot:
        """Takes the parameters from the store, and the target copy where it is new."""
        self.snapshot = self._store.pull()
        self._strategy.variables.assign(self.snapshot.vector)
        if self._target is not None:
            self._target.follow(self.snapshot)
        self._strategy.set_progress(self.snapshot.steps)
        return self.snapshot
