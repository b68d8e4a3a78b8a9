"""The three asynchronous value methods: one-step Q, one-step Sarsa, n-step Q.

They act alike, on one Q-network, and differ in what a step's value should have been.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import sonnet as snt
import tensorflow as tf

from rlcomponents import direct_calls, exploration
from rlcomponents.actors import q_values
from rlcomponents.learners import rollouts
from rlcomponents.parameters import tf_variables


class Rule(Protocol):
    """What an algorithm takes for the value of a step.

    Attributes:
        keeps_next_action: Whether it needs the action that follows the rollout.
    """

    keeps_next_action: bool

    def value(
        self,
        observation: np.ndarray,
        target_q: q_values.QValues,
        select: q_values.QValues,
    ) -> np.ndarray:
        """Returns `[N]`, what to bootstrap from where a rollout leaves an episode."""

    def targets(
        self, rollout: rollouts.Rollout, target_q: q_values.QValues
    ) -> np.ndarray:
        """Returns `[T, N]` float32, what each step's action value should have been."""


class OneStepQ:
    """y = r + gamma max_a Q(s', a; theta-). Mnih et al. 2016, Algorithm 1.

    Attributes:
        keeps_next_action: See `Rule`.
    """

    keeps_next_action = False

    def value(
        self,
        observation: np.ndarray,
        target_q: q_values.QValues,
        select: q_values.QValues,
    ) -> np.ndarray:
        """Returns zeros: `targets` looks at every next observation anyway."""
        return np.zeros(len(observation), np.float32)

    def targets(
        self, rollout: rollouts.Rollout, target_q: q_values.QValues
    ) -> np.ndarray:
        """See `Rule`."""
        best = _over_time(target_q, rollout.next_observation).max(axis=-1)
        return rollout.reward + rollout.discount * best


class OneStepSarsa:
    """y = r + gamma Q(s', a'; theta-), a' as it is really taken. Section 4.

    Where an episode is cut (a truncation), no action follows: one is chosen as if.

    Attributes:
        keeps_next_action: See `Rule`.
    """

    keeps_next_action = True

    def value(
        self,
        observation: np.ndarray,
        target_q: q_values.QValues,
        select: q_values.QValues,
    ) -> np.ndarray:
        """See `Rule`."""
        return _of_actions(target_q(observation), select(observation))

    def targets(
        self, rollout: rollouts.Rollout, target_q: q_values.QValues
    ) -> np.ndarray:
        """See `Rule`."""
        assert rollout.next_action is not None
        following = np.concatenate([rollout.action[1:], rollout.next_action[None]])
        taken = _of_actions(_over_time(target_q, rollout.next_observation), following)
        value = np.where(rollout.last, rollout.bootstrap, taken)
        return rollout.reward + rollout.discount * value


class NStepQ:
    """The longest return up to the rollout's end, then max_a Q(s, a; theta-).

    Mnih et al. 2016, Algorithm S2.

    Attributes:
        keeps_next_action: See `Rule`.
    """

    keeps_next_action = False

    def value(
        self,
        observation: np.ndarray,
        target_q: q_values.QValues,
        select: q_values.QValues,
    ) -> np.ndarray:
        """See `Rule`."""
        return target_q(observation).max(axis=-1)

    def targets(
        self, rollout: rollouts.Rollout, target_q: q_values.QValues
    ) -> np.ndarray:
        """See `Rule`."""
        return rollout.n_step_returns()


RULES: dict[str, type[Rule]] = {
    "one_step_q": OneStepQ,
    "one_step_sarsa": OneStepSarsa,
    "n_step_q": NStepQ,
}
"""The algorithms by name."""


class QStrategy:
    """Acts epsilon-greedily and learns by one of the rules. Not thread-safe.

    A strategy for `rlcomponents.learners.async_worker.AsyncWorker`.

    Attributes:
        variables: The worker's copy of the parameters.
        target_variables: Its copy of the target parameters.
        keeps_next_action: See `Rule`.
        rng: What actions are drawn from.
    """

    def __init__(
        self,
        network: snt.Module,
        target_network: snt.Module,
        rule: Rule,
        *,
        epsilon: Callable[[int], float],
        rng: np.random.Generator,
    ) -> None:
        """Stores its parts.

        Args:
            network: Maps `[B, ...]` observations to `[B, A]` action values.
            target_network: A copy that shares no variable with it.
            rule: Which algorithm.
            epsilon: Exploration against the agent steps of all workers.
            rng: Source of the random actions.
        """
        self.variables = tf_variables.FlatVariables(network.trainable_variables)
        self.target_variables = tf_variables.FlatVariables(
            target_network.trainable_variables
        )
        self.keeps_next_action = rule.keeps_next_action
        self._rule = rule
        self._epsilon_schedule = epsilon
        self.rng = rng
        self._network = network
        self._q = q_values.make_batch_q_values(network, self.variables)
        self._target_q = q_values.make_batch_q_values(
            target_network, self.target_variables
        )
        self._gradient = direct_calls.DirectCall(self._loss_and_gradient)
        self.set_progress(0)

    def set_progress(self, steps: int) -> None:
        """Anneals exploration."""
        self.epsilon = self._epsilon_schedule(steps)

    def initial_state(self, num_environments: int) -> tuple[()]:
        """Returns nothing: there is no memory."""
        return ()

    def act(
        self, observation: np.ndarray, is_first: np.ndarray, state: tuple[()]
    ) -> tuple[np.ndarray, tuple[()]]:
        """Chooses actions `[N]` int32, epsilon-greedily."""
        return self._select(observation), ()

    def value(self, observation: np.ndarray, state: tuple[()]) -> np.ndarray:
        """Returns `[N]` float32, as the rule has it."""
        return self._rule.value(observation, self._target_q, self._select)

    def gradient(self, rollout: rollouts.Rollout) -> tuple[float, np.ndarray]:
        """Returns the sum of (y - Q)^2 over the rollout, and its gradient."""
        targets = self._rule.targets(rollout, self._target_q)
        loss, gradient = self._gradient(
            _flat(rollout.observation),
            _flat(rollout.action),
            _flat(targets).astype(np.float32),
        )
        return float(loss), np.asarray(gradient)

    def _select(self, observation: np.ndarray) -> np.ndarray:
        actions = exploration.epsilon_greedy(
            self._q(observation), self.epsilon, self.rng
        )
        return np.asarray(actions, np.int32)

    def _loss_and_gradient(
        self,
        observations: tf.Tensor,
        actions: tf.Tensor,
        targets: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            q = tf.gather(self._network(observations), actions, batch_dims=1)  # [T * N]
            loss = tf.reduce_sum(tf.square(targets - q))
        gradients = tape.gradient(loss, self._network.trainable_variables)
        return loss, self.variables.flatten(gradients)


def _over_time(evaluate: q_values.QValues, observations: np.ndarray) -> np.ndarray:
    """Calls the network once for `[T, N, ...]`; returns `[T, N, A]`."""
    values = evaluate(_flat(observations))
    return values.reshape(*observations.shape[:2], -1)


def _of_actions(values: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Picks `values[..., actions]`."""
    return np.take_along_axis(values, actions[..., None], axis=-1)[..., 0]


def _flat(array: np.ndarray) -> np.ndarray:
    """Merges time and environments: `[T, N, ...]` to `[T * N, ...]`."""
    return array.reshape(-1, *array.shape[2:])
