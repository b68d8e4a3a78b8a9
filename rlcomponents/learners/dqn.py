"""The DQN learner: pulls parameters, computes one gradient, pushes it.

It never changes its own parameters; only the store does (Nair et al. 2015).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sonnet as snt
import tensorflow as tf
from acme import core as acme_core

from rlcomponents import core, direct_calls, finite
from rlcomponents.learners import target_copy
from rlcomponents.losses import outliers, value_learning
from rlcomponents.parameters import gradients, tf_variables
from rlcomponents.replay import transitions


class LearnerStep(NamedTuple):
    """What came of one batch.

    Attributes:
        loss: Mean loss of the batch; None where it or its gradient was not finite.
        push: The store's verdicts; None where the learner itself discarded the
            gradient, as an outlier or since it was not finite.
    """

    loss: float | None
    push: core.PushResult | None


class DQNLearner(acme_core.Learner):
    """Computes DQN gradients from replay. Not thread-safe.

    Attributes:
        variables: Those of `network`, which an actor may share.
        snapshot: What the last pull returned: the parameters that `network` has.

    Reference:
        Nair et al. 2015, Algorithm 1; https://arxiv.org/abs/1507.04296.
    """

    def __init__(
        self,
        network: snt.Module,
        target_network: snt.Module,
        store: core.ParameterStore,
        batches: transitions.BatchSource,
        *,
        double_q: bool = False,
        max_abs_td_error: float | None = 1.0,
        outlier_rule: outliers.OutlierRule | None = None,
        batch_timeout_secs: float = 1.0,
        watch: finite.Watch | None = None,
    ) -> None:
        """Offers the network's values as initial parameters, and pulls once.

        Args:
            network: Maps `[B, ...]` observations to `[B, A]` action values. May be
                shared with an actor in the same thread. Traced without AutoGraph, as
                in `actors.q_values`.
            target_network: A copy that shares no variable with it.
            store: Where parameters come from and gradients go.
            batches: Where transitions come from.
            double_q: Whether the online network picks the bootstrap action.
            max_abs_td_error: Size at which the error is clipped. None: not.
            outlier_rule: Says which gradients to discard for their loss. None: none.
            batch_timeout_secs: Longest wait of one `step`.
            watch: Counts what is discarded for not being finite. None: one of its own.

        Raises:
            ValueError: The networks share a variable.
        """
        online = {id(variable) for variable in network.variables}
        shared = [v.name for v in target_network.variables if id(v) in online]
        if shared:
            raise ValueError(
                f"Network and target network share {', '.join(shared)}: build the "
                "target network anew, from modules of its own."
            )
        self._network = network
        self._target_network = target_network
        self.variables = tf_variables.FlatVariables(network.trainable_variables)
        self._target = target_copy.TargetCopy(
            store, tf_variables.FlatVariables(target_network.trainable_variables)
        )
        self._store = store
        self._batches = batches
        self._double_q = double_q
        self._max_abs_td_error = max_abs_td_error
        self._outlier_rule = outlier_rule
        self._batch_timeout_secs = batch_timeout_secs
        watch = watch or finite.Watch()
        self._guard = watch.guard(advice=finite.MEND_LEARNING)
        self._gradient = direct_calls.DirectCall(self._loss_and_gradient)
        self._held_versions: tuple[core.Version, ...] | None = None
        store.initialise(self.variables.vector())
        self.pull()

    def pull(self) -> core.Snapshot:
        """Takes the parameters from the store, and the target copy where it is new."""
        snapshot = self._store.pull()
        if self._held_versions != snapshot.versions:
            self.variables.assign(snapshot.vector)
            self._held_versions = snapshot.versions
        self.snapshot = snapshot
        self._target.follow(self.snapshot)
        return self.snapshot

    def step(self, agent_steps: int = 0) -> LearnerStep | None:
        """Samples, pulls, computes one gradient and pushes it.

        Args:
            agent_steps: Agent steps to count at the store along with the gradient.

        Returns:
            None where replay gave no batch in time; then nothing was pushed, and
            the agent steps are still the caller's to count.

        Raises:
            finite.NonFiniteError: Too many losses or gradients in a row were NaN or
                infinite. None of them was pushed.
        """
        batch = self._batches.next_batch(self._batch_timeout_secs)
        if batch is None:
            return None
        snapshot = self.pull()
        loss_tensor, gradient_tensor = self._gradient(batch)
        loss, gradient = float(loss_tensor), gradient_tensor.numpy()
        problem = gradients.describe_non_finite(loss, gradient, self.variables.layout)
        if problem is not None:
            self._count(agent_steps)
            self._guard.discard(f"update {snapshot.updates}", problem)
            return LearnerStep(None, None)
        self._guard.accept()
        if self._outlier_rule is not None and not self._outlier_rule.accept(loss):
            self._count(agent_steps)
            return LearnerStep(loss, None)
        push = self._store.push(gradient, snapshot.versions, agent_steps)
        return LearnerStep(loss, push)

    def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
        """Returns the store's variables: a learner holds none of its own."""
        return self._store.get_variables(names)

    def _count(self, agent_steps: int) -> None:
        """Counts agent steps that no push carries."""
        if agent_steps:
            self._store.add_steps(agent_steps)

    def _loss_and_gradient(
        self, batch: transitions.Transition
    ) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._network.trainable_variables)
            q_tm1 = self._network(batch.observation)  # [B, A]
            q_t = self._target_network(batch.next_observation)  # [B, A]
            if self._double_q:
                terms = value_learning.double_q_learning(
                    q_tm1,
                    batch.action,
                    batch.reward,
                    batch.discount,
                    q_t_target=q_t,
                    q_t_selector=self._network(batch.next_observation),
                    max_abs_td_error=self._max_abs_td_error,
                )
            else:
                terms = value_learning.q_learning(
                    q_tm1,
                    batch.action,
                    batch.reward,
                    batch.discount,
                    q_t,
                    max_abs_td_error=self._max_abs_td_error,
                )
            loss = tf.reduce_mean(terms.loss)
        parts = tape.gradient(loss, self._network.trainable_variables)
        return loss, self.variables.flatten(parts)
