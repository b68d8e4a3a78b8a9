"""Evaluates a Q-network as acting needs it, from and to NumPy."""

from collections.abc import Callable

import numpy as np
import sonnet as snt
from dm_env import specs

from rlcomponents import direct_calls
from rlcomponents.actors import forward_passes
from rlcomponents.parameters import tf_variables

QValues = Callable[[np.ndarray], np.ndarray]
"""Maps observations `[B, ...]` to action values `[B, A]` float32."""


def make_q_values(
    network: snt.Module,
    observation_spec: specs.Array,
    variables: tf_variables.FlatVariables | None = None,
) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from one observation to its action values.

    Args:
        network: See `make_batch_q_values`.
        observation_spec: Shape and dtype of one observation.
        variables: See `make_batch_q_values`.

    Returns:
        Maps an observation, without batch axis, to `[A]` float32.
    """
    of_batch = make_batch_q_values(network, variables)

    def q_values(observation: np.ndarray) -> np.ndarray:
        return of_batch(np.asarray(observation, observation_spec.dtype)[None])[0]

    return q_values


def make_batch_q_values(
    network: snt.Module, variables: tf_variables.FlatVariables | None = None
) -> QValues:
    """Returns a function from observations to their action values.

    By TensorFlow, as `DirectCall` does: traced without AutoGraph, so that control flow
    which depends on values has to be TensorFlow's, such as `tf.cond`. Or, given the
    variables, in NumPy where that is faster: see `forward_passes`.

    Args:
        network: Maps `[B, ...]` observations to `[B, A]` float32.
        variables: Those of the network, if it gets new values through these alone. They
            count at once, as do new values of any origin where this is None.

    Returns:
        Maps `[B, ...]` to `[B, A]` float32.
    """
    function = direct_calls.DirectCall(network.__call__)
    return forward_passes.fastest(
        network, variables, lambda observations: function(observations).numpy()
    )
