"""Evaluates a Q-network on single observations, as acting needs it."""

from collections.abc import Callable

import numpy as np
import sonnet as snt
import tensorflow as tf
from dm_env import specs


def make_q_values(
    network: snt.Module, observation_spec: specs.Array
) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from one observation to its action values.

    Args:
        network: Maps `[B, ...]` observations to `[B, A]` float32. Read at each call,
            so new parameters count at once. Traced without AutoGraph: control flow
            that depends on values has to be TensorFlow's, such as `tf.cond`.
        observation_spec: Shape and dtype of one observation.

    Returns:
        Maps an observation, without batch axis, to `[A]` float32.
    """
    signature = tf.TensorSpec((1, *observation_spec.shape), observation_spec.dtype)
    # Calling the concrete function spares a third of a small network's time. AutoGraph
    # would take a second and more over the code of Sonnet, which does not need it.
    forward = tf.function(
        lambda observations: network(observations),
        input_signature=[signature],
        autograph=False,
    ).get_concrete_function()

    def q_values(observation: np.ndarray) -> np.ndarray:
        batch = np.asarray(observation, observation_spec.dtype)[None]
        return forward(tf.constant(batch)).numpy()[0]

    return q_values
