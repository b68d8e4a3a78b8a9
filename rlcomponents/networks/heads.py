"""From features to the value of each action.

Each head has the last hidden layer as well, because a dueling head has it twice; behind
a torso that has that layer itself, none.
"""

import numpy as np
import sonnet as snt
import tensorflow as tf

from rlcomponents.networks import in_numpy


class QHead(snt.Module):
    """One hidden layer, then one linear output for each action."""

    def __init__(
        self, num_actions: int, hidden_size: int | None, name: str | None = None
    ) -> None:
        """Stores the layers; variables are created on the first call.

        Args:
            num_actions: Outputs.
            hidden_size: Units of the hidden layer. None: there is none.
            name: Name of the module.
        """
        super().__init__(name=name)
        self._stream = _stream(hidden_size, num_actions)

    def __call__(self, features: tf.Tensor) -> tf.Tensor:
        """Maps features `[B, F]` float32 to Q-values `[B, A]` float32."""
        return self._stream(features)

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer:
        """Returns the forward pass in NumPy."""
        return in_numpy.mlp(self._stream, array_of)


class DuelingHead(snt.Module):
    """A stream for the value of the state, and one for what each action adds to it.

        Q(s, a) = V(s) + A(s, a) - mean_a A(s, a)

    Reference:
        Wang et al. 2016, equation 9. https://arxiv.org/abs/1511.06581. Differs: the
        gradient that enters the torso is not scaled by 1/sqrt(2).
    """

    def __init__(
        self, num_actions: int, hidden_size: int | None, name: str | None = None
    ) -> None:
        """Stores the layers; variables are created on the first call.

        Args:
            num_actions: Outputs.
            hidden_size: Units of the hidden layer of each stream, which has its own.
                None: the streams are linear.
            name: Name of the module.
        """
        super().__init__(name=name)
        self._value = _stream(hidden_size, 1, name="value")
        self._advantage = _stream(hidden_size, num_actions, name="advantage")

    def __call__(self, features: tf.Tensor) -> tf.Tensor:
        """Maps features `[B, F]` float32 to Q-values `[B, A]` float32."""
        advantage = self._advantage(features)  # [B, A]
        centred = advantage - tf.reduce_mean(advantage, axis=-1, keepdims=True)
        return self._value(features) + centred

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer:
        """Returns the forward pass in NumPy."""
        value = in_numpy.mlp(self._value, array_of)
        advantage = in_numpy.mlp(self._advantage, array_of)

        def forward(features: np.ndarray) -> np.ndarray:
            of_actions = advantage(features)
            return value(features) + (
                of_actions - np.mean(of_actions, axis=-1, keepdims=True)
            )

        return forward


def _stream(
    hidden_size: int | None, num_outputs: int, name: str = "mlp"
) -> snt.nets.MLP:
    hidden_sizes = [] if hidden_size is None else [hidden_size]
    return snt.nets.MLP([*hidden_sizes, num_outputs], name=name)
