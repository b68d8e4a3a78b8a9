"""From rollouts of observations to features, with a memory or without.

A body is a torso over all steps of a rollout, and what carries a state through them.
Acting is the same call as learning, on a rollout of one step, so both treat the state
alike. A state is a flat tuple of `[B, ...]` tensors, one row for each environment.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import sonnet as snt
import tensorflow as tf

from rlcomponents.networks import in_numpy

State = tuple[tf.Tensor, ...]
"""What a body remembers, each `[B, ...]` float32; `()` where it remembers nothing."""

ArrayState = tuple[np.ndarray, ...]
"""The same in NumPy."""

ArrayStep = Callable[
    [np.ndarray, np.ndarray, ArrayState], tuple[np.ndarray, ArrayState]
]
"""One step of `Body.unroll` in NumPy: maps observations `[B, ...]`, `is_first` `[B]`
and a state to features `[B, F]`, overwritten by the next call, and the next state."""


class Body(Protocol):
    """Maps a rollout to features. A `snt.Module`."""

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """Goes through a rollout.

        Args:
            observations: `[T, B, ...]`.
            is_first: `[T, B]` bool, whether an episode starts with that observation:
                what was before is forgotten right there.
            state: As `initial_state` or the last `unroll` returned it.

        Returns:
            Features `[T, B, F]` float32, and the state after the last step.
        """

    def initial_state(self, batch_size: int) -> State:
        """Returns the state of `batch_size` environments at the start."""


class FeedForwardBody(snt.Module):
    """A torso on each observation by itself: no state, and episodes do not matter."""

    def __init__(self, torso: snt.Module, name: str | None = None) -> None:
        """Stores the torso, which maps `[N, ...]` to `[N, F]` float32."""
        super().__init__(name=name)
        self._torso = torso

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """See `Body`."""
        del is_first
        return snt.BatchApply(self._torso)(observations), state

    def initial_state(self, batch_size: int) -> State:
        """Returns `()`."""
        del batch_size
        return ()

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> ArrayStep | None:
        """Returns one step in NumPy; None where the torso has none."""
        torso = in_numpy.convert(self._torso, array_of)
        if torso is None:
            return None
        return lambda observations, is_first, state: (torso(observations), state)


class RecurrentBody(snt.Module):
    """A torso, then LSTM cells whose state is zero at the first step of each episode.

    The state is `(hidden, cell)`, both `[B, lstm_size]`.

    Reference:
        Hochreiter and Schmidhuber 1997; with the forget gates of Gers et al. 2000,
        without peepholes.
    """

    def __init__(
        self, torso: snt.Module, lstm_size: int, name: str | None = None
    ) -> None:
        """Stores the layers; variables are created on the first call.

        Args:
            torso: Maps `[N, ...]` to `[N, F]` float32.
            lstm_size: Number of cells, and of features.
            name: Name of the module.

        Raises:
            ValueError: `lstm_size` is less than 1.
        """
        super().__init__(name=name)
        if lstm_size < 1:
            raise ValueError(f"lstm_size is {lstm_size}; it must be at least 1.")
        self._torso = torso
        self._lstm = snt.LSTM(lstm_size)

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """See `Body`. Gradients go back through the rollout, not over episode starts.

        Raises:
            ValueError: `is_first` is not `[T, B]`.
        """
        features = snt.BatchApply(self._torso)(observations)
        tf.debugging.assert_shapes(
            [(features, "TBF"), (is_first, "TB")], message="RecurrentBody.unroll"
        )
        outputs, next_state = snt.dynamic_unroll(
            self._step, (features, is_first), snt.LSTMState(*state)
        )
        return outputs, tuple(next_state)

    def initial_state(self, batch_size: int) -> State:
        """Returns zeros."""
        return tuple(self._lstm.initial_state(batch_size))

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> ArrayStep | None:
        """Returns one step in NumPy; None where the torso has none."""
        torso = in_numpy.convert(self._torso, array_of)
        if torso is None:
            return None
        lstm = in_numpy.LSTM(self._lstm, array_of)

        def step(
            observations: np.ndarray, is_first: np.ndarray, state: ArrayState
        ) -> tuple[np.ndarray, ArrayState]:
            hidden, cell = (
                np.where(is_first[:, np.newaxis], np.float32(0), part) for part in state
            )
            next_state = lstm(torso(observations), hidden, cell)
            return next_state[0], next_state

        return step

    def _step(
        self, inputs: tuple[tf.Tensor, tf.Tensor], state: snt.LSTMState
    ) -> tuple[tf.Tensor, snt.LSTMState]:
        """One step: features `[B, F]`, is_first `[B]`."""
        features, is_first = inputs
        forget = is_first[:, tf.newaxis]
        # Not a product with 0, by which a state that is not finite would survive.
        hidden = tf.where(forget, tf.zeros_like(state.hidden), state.hidden)
        cell = tf.where(forget, tf.zeros_like(state.cell), state.cell)
        return self._lstm(features, snt.LSTMState(hidden, cell))
