"""Chooses between TensorFlow and NumPy for the forward passes of acting."""

from collections.abc import Callable
from typing import Any

import sonnet as snt

from rlcomponents.networks import in_numpy
from rlcomponents.parameters import tf_variables

SMALL_NETWORK_PARAMETERS = 1 << 18
"""Up to here NumPy is faster for any number of observations, beyond for one at a time:
products of several rows with large matrices are what TensorFlow's kernels are for."""


def fastest(
    network: snt.Module,
    variables: tf_variables.FlatVariables | None,
    in_tensorflow: Callable[..., Any],
) -> Callable[..., Any]:
    """Returns a function that does what `in_tensorflow` does, in NumPy where that pays.

    Args:
        network: Is asked for a forward pass in NumPy; see `in_numpy.convert`.
        variables: Those of the network, if it gets new values through these alone:
            NumPy sees no others. None: always TensorFlow.
        in_tensorflow: Its first argument are observations `[B, ...]`.
    """
    if variables is None:
        return in_tensorflow
    in_arrays = in_numpy.convert(network, variables.array_of)
    if in_arrays is None:
        return in_tensorflow
    is_small = variables.layout.num_parameters <= SMALL_NETWORK_PARAMETERS

    def forward(observations: Any, *arguments: Any) -> Any:
        chosen = in_arrays if is_small or len(observations) == 1 else in_tensorflow
        return chosen(observations, *arguments)

    return forward
