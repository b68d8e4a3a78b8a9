"""From rollouts of observations to features, with a memory or without.

A body is a torso over all steps of a rollout, and what carries a state through them.
Acting is the same call as learning, on a rollout of one step, so both treat the state
alike. A state is a flat tuple of `[B, ...]` tensors, one row for each environment.
"""

from typing import Protocol

import sonnet as snt
import tensorflow as tf

State = tuple[tf.Tensor, ...]
"""What a body remembers, each `[B, ...]` float32; `()` where it remembers nothing."""


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
        self._torso = snt.BatchApply(torso)

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """See `Body`."""
        del is_first
        return self._torso(observations), state

    def initial_state(self, batch_size: int) -> State:
        """Returns `()`."""
        del batch_size
        return ()


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
        self._torso = snt.BatchApply(torso)
        self._lstm = snt.LSTM(lstm_size)

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: State
    ) -> tuple[tf.Tensor, State]:
        """See `Body`. Gradients go back through the rollout, not over episode starts.

        Raises:
            ValueError: `is_first` is not `[T, B]`.
        """
        features = self._torso(observations)
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
