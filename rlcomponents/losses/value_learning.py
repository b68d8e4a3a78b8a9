"""Q-learning rules on a batch of transitions, as pure TensorFlow functions.

The discount says all there is to say about the end of an episode: 0 after a
termination, gamma after a mere time limit. With n-step transitions the reward is the
discounted sum and the discount is gamma to the power of the steps summed.
"""

from typing import NamedTuple

import tensorflow as tf


class ValueLoss(NamedTuple):
    """What a value-learning rule computes, unreduced.

    Attributes:
        loss: `[B]` float32, to be reduced and differentiated.
        td_error: `[B]` float32, target minus the value of the action, never clipped.
        target: `[B]` float32. No gradient leads through it.
    """

    loss: tf.Tensor
    td_error: tf.Tensor
    target: tf.Tensor


def q_learning(
    q_tm1: tf.Tensor,
    a_tm1: tf.Tensor,
    r_t: tf.Tensor,
    discount_t: tf.Tensor,
    q_t: tf.Tensor,
    *,
    max_abs_td_error: float | None = None,
) -> ValueLoss:
    """Computes the DQN loss.

        target   = r + discount * max_a q_t(a)
        td_error = target - q_tm1(a_tm1)
        loss     = td_error^2 / 2

    so that descent along the gradient follows td_error * grad q_tm1(a_tm1).

    Args:
        q_tm1: `[B, A]` float32, values of the observation acted on.
        a_tm1: `[B]` int32 or int64, actions taken, in [0, A).
        r_t: `[B]` float32, rewards received.
        discount_t: `[B]` float32, what the next observation's value counts for.
        q_t: `[B, A]` float32, values of the next observation, from the target
            network. Treated as constants.
        max_abs_td_error: Bound on the error in the gradient ("error clipping"): the
            loss goes on linearly beyond it. None leaves the error unbounded.

    Returns:
        The terms; gradients reach `q_tm1` only.

    Raises:
        ValueError: The shapes do not fit, or `max_abs_td_error` is not positive.

    Reference:
        Nair et al. 2015, equation 2. https://arxiv.org/abs/1507.04296. Error
        clipping: Mnih et al. 2015, Methods ("Training algorithm"), with a bound of 1.
        https://doi.org/10.1038/nature14236
    """
    tf.debugging.assert_shapes(
        [
            (q_tm1, "BA"),
            (a_tm1, "B"),
            (r_t, "B"),
            (discount_t, "B"),
            (q_t, "BA"),
        ],
        message="q_learning",
    )
    target = r_t + discount_t * tf.reduce_max(q_t, axis=-1)  # [B]
    return _value_loss(q_tm1, a_tm1, target, max_abs_td_error)


def double_q_learning(
    q_tm1: tf.Tensor,
    a_tm1: tf.Tensor,
    r_t: tf.Tensor,
    discount_t: tf.Tensor,
    q_t_target: tf.Tensor,
    q_t_selector: tf.Tensor,
    *,
    max_abs_td_error: float | None = None,
) -> ValueLoss:
    """Computes the double DQN loss: one network picks the action, one values it.

        target = r + discount * q_t_target(argmax_a q_t_selector(a))

    Args:
        q_tm1: `[B, A]` float32, values of the observation acted on.
        a_tm1: `[B]` int32 or int64, actions taken, in [0, A).
        r_t: `[B]` float32, rewards received.
        discount_t: `[B]` float32, what the next observation's value counts for.
        q_t_target: `[B, A]` float32, values of the next observation, from the target
            network. Treated as constants.
        q_t_selector: `[B, A]` float32, the same from the online network. Treated as
            constants.
        max_abs_td_error: As in `q_learning`.

    Returns:
        The terms; gradients reach `q_tm1` only.

    Raises:
        ValueError: The shapes do not fit, or `max_abs_td_error` is not positive.

    Reference:
        van Hasselt et al. 2016, section "Double DQN".
        https://arxiv.org/abs/1509.06461
    """
    tf.debugging.assert_shapes(
        [
            (q_tm1, "BA"),
            (a_tm1, "B"),
            (r_t, "B"),
            (discount_t, "B"),
            (q_t_target, "BA"),
            (q_t_selector, "BA"),
        ],
        message="double_q_learning",
    )
    best_t = tf.argmax(q_t_selector, axis=-1)  # [B]
    target = r_t + discount_t * tf.gather(q_t_target, best_t, batch_dims=1)  # [B]
    return _value_loss(q_tm1, a_tm1, target, max_abs_td_error)


def _value_loss(
    q_tm1: tf.Tensor,
    a_tm1: tf.Tensor,
    target: tf.Tensor,
    max_abs_td_error: float | None,
) -> ValueLoss:
    """Half the squared error, linear beyond `max_abs_td_error`."""
    target = tf.stop_gradient(target)
    td_error = target - tf.gather(q_tm1, a_tm1, batch_dims=1)  # [B]
    if max_abs_td_error is None:
        return ValueLoss(0.5 * tf.square(td_error), td_error, target)
    if not max_abs_td_error > 0.0:
        raise ValueError(
            f"max_abs_td_error is {max_abs_td_error}: nothing would be learned; give "
            "a positive bound, or None for none."
        )
    size = tf.abs(td_error)
    quadratic = tf.minimum(size, max_abs_td_error)
    loss = 0.5 * tf.square(quadratic) + max_abs_td_error * (size - quadratic)
    return ValueLoss(loss, td_error, target)
