"""A3C as a strategy: acts by the policy, learns by the actor-critic gradient."""

from typing import Any

import numpy as np
import tensorflow as tf
from acme import core as acme_core

from agents import saved_policy
from agents.a3c.config import A3CConfig
from rlcomponents import direct_calls, exploration, seeding, specs
from rlcomponents.actors import policy_actor
from rlcomponents.learners import rollouts
from rlcomponents.losses import actor_critic as losses
from rlcomponents.networks import actor_critic, policies
from rlcomponents.parameters import tf_variables


class A3CStrategy:
    """A strategy for `rlcomponents.learners.async_worker.AsyncWorker`. Not thread-safe.

    The gradient is that of

        sum_t [ -log pi(a|s) (R - V) + c_v (R - V)^2 - beta H(pi) ]

    with R - V a constant in the first term: no policy gradient reaches the critic.

    Attributes:
        variables: The worker's copy of the parameters.
        target_variables: None: A3C has no target.
        keeps_next_action: False: the loss needs no action after the rollout.
        epsilon: None: actions are drawn from the policy.
        rng: What they are drawn from.

    Reference:
        Mnih et al. 2016, Algorithm S3 and section 4: https://arxiv.org/abs/1602.01783.
    """

    keeps_next_action = False
    target_variables = None
    epsilon = None

    def __init__(
        self,
        network: actor_critic.ActorCritic,
        rng: np.random.Generator,
        *,
        entropy_cost: float,
        value_coefficient: float,
        bootstraps: bool = True,
    ) -> None:
        """Stores its parts.

        Args:
            network: Policy and value.
            rng: What actions are drawn from.
            entropy_cost: beta.
            value_coefficient: c_v.
            bootstraps: Whether the value of the last state stands for what follows.
        """
        self.variables = tf_variables.FlatVariables(network.trainable_variables)
        self._network = network
        self.rng = rng
        self._entropy_cost = entropy_cost
        self._value_coefficient = value_coefficient
        self._bootstraps = bootstraps
        self._unroll = policy_actor.make_unroll(network, self.variables)
        self._gradient = direct_calls.DirectCall(self._loss_and_gradient)

    def set_progress(self, steps: int) -> None:
        """Does nothing: exploration is the policy's own."""

    def initial_state(self, num_environments: int) -> Any:
        """Returns the memory's first state; `()` without a memory."""
        return self._network.initial_state(num_environments)

    def act(
        self, observation: np.ndarray, is_first: np.ndarray, state: Any
    ) -> tuple[np.ndarray, Any]:
        """Draws actions `[N, ...]` from the policy."""
        policy, _, next_state = self._unroll(observation, is_first, state)
        return exploration.sample(policy, self.rng), next_state

    def value(self, observation: np.ndarray, state: Any) -> np.ndarray:
        """Returns V of the observations, `[N]` float32; zeros without bootstrapping."""
        if not self._bootstraps:
            return np.zeros(len(observation), np.float32)
        is_first = np.zeros(len(observation), bool)
        return self._unroll(observation, is_first, state)[1]

    def gradient(self, rollout: rollouts.Rollout) -> tuple[float, np.ndarray]:
        """Returns the loss over the rollout and its gradient; see `Strategy`."""
        loss, gradient = self._gradient(
            rollout.observation,
            rollout.is_first,
            rollout.action,
            rollout.n_step_returns(),
            rollout.state,
        )
        return float(loss), np.asarray(gradient)

    def _loss_and_gradient(
        self,
        observations: tf.Tensor,
        is_first: tf.Tensor,
        actions: tf.Tensor,
        returns: tf.Tensor,
        state: Any,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            policy, values, _ = self._network.unroll(observations, is_first, state)
            if isinstance(policy, policies.Softmax):
                terms = losses.advantage_actor_critic(
                    policy.logits, values, actions, returns
                )
            else:
                terms = losses.gaussian_advantage_actor_critic(
                    policy.mean, policy.variance, values, actions, returns
                )
            # `terms.value` is half of (R - V)^2.
            of_steps = (
                terms.policy
                + 2.0 * self._value_coefficient * terms.value
                + self._entropy_cost * terms.negative_entropy
            )  # [T, N]
            loss = tf.reduce_sum(of_steps)
        gradients = tape.gradient(loss, self._network.trainable_variables)
        return loss, self.variables.flatten(gradients)


def make_network(
    config: A3CConfig, environment_spec: specs.EnvironmentSpec
) -> actor_critic.ActorCritic:
    """Builds the network; equal in every node, since its seed is the run's."""
    return actor_critic.make_actor_critic(
        config.network_kind(environment_spec),
        environment_spec,
        recurrent=config.recurrent,
        lstm_size=config.lstm_size,
        seed=seeding.derive(config.seed, "network"),
    )


def make_strategy(
    config: A3CConfig,
    environment_spec: specs.EnvironmentSpec,
    index: int,
    life: int = 0,
) -> A3CStrategy:
    """Builds the strategy of worker `index`; `life` is how often it lived before."""
    return A3CStrategy(
        make_network(config, environment_spec),
        np.random.default_rng(
            seeding.derive(config.seed, "exploration", index, life=life)
        ),
        entropy_cost=config.entropy_cost,
        value_coefficient=config.value_coefficient,
        bootstraps=not config.whole_episodes,
    )


def make_player(
    config: A3CConfig, environment_spec: specs.EnvironmentSpec
) -> saved_policy.Player:
    """Builds what plays, with drawn actions or the likeliest ones."""
    network = make_network(config, environment_spec)
    variables = tf_variables.FlatVariables(network.trainable_variables)
    actor: acme_core.Actor = policy_actor.PolicyActor(
        network,
        np.random.default_rng(seeding.derive(config.seed, "evaluation exploration")),
        greedy=config.greedy_evaluation,
        variables=variables,
    )
    return saved_policy.Player(variables, actor)
