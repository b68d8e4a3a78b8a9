"""Chooses between TensorFlow and NumPy for the forward passes of acting."""

from collections.abc import Callable
from typing import Any

import sonnet as snt

from rlcomponents.networks import in_numpy
from rlcomponents.parameters import tf_variables

SMALL_NETWORK_PARAMETERS = 1 << 18
"""Up to here NumPy is faster for several observations, too: products of several rows
with large matrices are what TensorFlow's kernels are for."""

FEW_OBSERVATIONS = 64
"""With more of them TensorFlow catches up on small networks: on that of MinAtar at 64,
and at 640 it takes 3.2 ms to NumPy's 8.1."""


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
    most_in_arrays = FEW_OBSERVATIONS if is_small else 1

    def forward(observations: Any, *arguments: Any) -> Any:
        few = len(observations) <= most_in_arrays
        return (in_arrays if few else in_tensorflow)(observations, *arguments)

    return forward
