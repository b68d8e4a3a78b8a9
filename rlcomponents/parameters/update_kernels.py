"""The inner loops of the update rules; see `rlcomponents.kernels`.

Nothing is checked here; `update_rules.UpdateRule.apply` does.
"""

import numpy as np

from rlcomponents import kernels

_Array = np.ndarray
_Scalar = np.float32


@kernels.compiled
def sgd(parameters: _Array, gradient: _Array, learning_rate: _Scalar) -> None:
    """See `update_rules.SGD`."""
    for i in range(parameters.size):
        parameters[i] -= learning_rate * gradient[i]


@kernels.compiled
def momentum_sgd(
    parameters: _Array,
    gradient: _Array,
    momentum: _Array,
    learning_rate: _Scalar,
    decay: _Scalar,
    one_minus_decay: _Scalar,
) -> None:
    """See `update_rules.MomentumSGD`."""
    for i in range(parameters.size):
        m = decay * momentum[i] + one_minus_decay * gradient[i]
        momentum[i] = m
        parameters[i] -= learning_rate * m


@kernels.compiled
def adagrad(
    parameters: _Array,
    gradient: _Array,
    accumulator: _Array,
    learning_rate: _Scalar,
    epsilon: _Scalar,
) -> None:
    """See `update_rules.AdaGrad`."""
    for i in range(parameters.size):
        g = gradient[i]
        s = accumulator[i] + g * g
        accumulator[i] = s
        parameters[i] -= learning_rate * g / (np.sqrt(s) + epsilon)


@kernels.compiled
def rmsprop(
    parameters: _Array,
    gradient: _Array,
    mean_square: _Array,
    learning_rate: _Scalar,
    decay: _Scalar,
    one_minus_decay: _Scalar,
    epsilon: _Scalar,
) -> None:
    """See `update_rules.RMSProp`."""
    for i in range(parameters.size):
        g = gradient[i]
        s = decay * mean_square[i] + one_minus_decay * (g * g)
        mean_square[i] = s
        parameters[i] -= learning_rate * g / np.sqrt(s + epsilon)


@kernels.compiled
def adam(
    parameters: _Array,
    gradient: _Array,
    first_moment: _Array,
    second_moment: _Array,
    learning_rate: _Scalar,
    beta1: _Scalar,
    one_minus_beta1: _Scalar,
    beta2: _Scalar,
    one_minus_beta2: _Scalar,
    correction1: _Scalar,
    correction2: _Scalar,
    epsilon: _Scalar,
) -> None:
    """See `update_rules.Adam`."""
    for i in range(parameters.size):
        g = gradient[i]
        m = beta1 * first_moment[i] + one_minus_beta1 * g
        v = beta2 * second_moment[i] + one_minus_beta2 * (g * g)
        first_moment[i] = m
        second_moment[i] = v
        parameters[i] -= (
            learning_rate * (m / correction1) / (np.sqrt(v / correction2) + epsilon)
        )
