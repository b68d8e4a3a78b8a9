"""An actor that follows a policy network, with or without a memory."""

from typing import Any

import dm_env
import numpy as np
import tensorflow as tf
from acme import core as acme_core

from rlcomponents import direct_calls, exploration
from rlcomponents.actors import forward_passes
from rlcomponents.networks import actor_critic
from rlcomponents.parameters import tf_variables


def make_unroll(
    network: actor_critic.ActorCritic,
    variables: tf_variables.FlatVariables | None = None,
) -> actor_critic.ArrayStep:
    """Returns a function that takes one step through a network, from and to NumPy.

    By TensorFlow, traced for each number of environments, as `DirectCall` does; or,
    given the variables, in NumPy where that is faster: see `forward_passes`.

    Args:
        network: Policy and value.
        variables: Those of the network, if it gets new values through these alone. They
            count at once, as do new values of any origin where this is None.
    """

    def unroll(observation: tf.Tensor, is_first: tf.Tensor, state: Any) -> Any:
        policy, values, next_state = network.unroll(
            observation[tf.newaxis], is_first[tf.newaxis], state
        )
        return type(policy)(*(part[0] for part in policy)), values[0], next_state

    forward = direct_calls.DirectCall(unroll)

    def in_tensorflow(observation: np.ndarray, is_first: np.ndarray, state: Any) -> Any:
        policy, values, next_state = forward(observation, is_first, state)
        return (
            type(policy)(*(part.numpy() for part in policy)),
            values.numpy(),
            next_state,
        )

    return forward_passes.fastest(network, variables, in_tensorflow)


class PolicyActor(acme_core.Actor):
    """Draws actions, or takes the likeliest. Keeps no experience. Not thread-safe."""

    def __init__(
        self,
        network: actor_critic.ActorCritic,
        rng: np.random.Generator,
        *,
        greedy: bool,
        variables: tf_variables.FlatVariables | None = None,
    ) -> None:
        """Stores its parts.

        Args:
            network: Policy and value.
            rng: What actions are drawn from.
            greedy: Whether to take the likeliest action instead.
            variables: See `make_unroll`.
        """
        self._unroll = make_unroll(network, variables)
        self._rng = rng
        self._greedy = greedy
        self._state = network.initial_state(1)
        self._is_first = True

    def select_action(self, observation: np.ndarray) -> np.ndarray:
        """Returns an action: a scalar int32, or `[D]` float32."""
        policy, _, self._state = self._unroll(
            observation[None], np.array([self._is_first]), self._state
        )
        self._is_first = False
        if self._greedy:
            return exploration.mode(policy)[0]
        return exploration.sample(policy, self._rng)[0]

    def observe_first(self, timestep: dm_env.TimeStep) -> None:
        """Begins an episode, with an empty memory."""
        self._is_first = True

    def observe(self, action: np.ndarray, next_timestep: dm_env.TimeStep) -> None:
        """Does nothing."""

    def update(self, wait: bool = False) -> None:
        """Does nothing."""
