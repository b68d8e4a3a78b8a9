"""Advantage actor-critic rules on a rollout, as pure TensorFlow functions.

One for a softmax over discrete actions, one for a Gaussian over continuous ones. The
terms come apart and unreduced: weights of entropy and value, and whether to sum or to
average over a rollout, are the caller's.
"""

import math
from typing import NamedTuple

import tensorflow as tf


class ActorCriticTerms(NamedTuple):
    """What an actor-critic rule computes, each `[T, B]` float32, to be minimised.

    Attributes:
        policy: Its gradient is that of -log pi(a|s) times the advantage, and reaches
            the policy only.
        value: Half the squared advantage. Its gradient reaches the values only.
        negative_entropy: Of the policy in each state.
    """

    policy: tf.Tensor
    value: tf.Tensor
    negative_entropy: tf.Tensor


def advantage_actor_critic(
    logits: tf.Tensor, values: tf.Tensor, actions: tf.Tensor, returns: tf.Tensor
) -> ActorCriticTerms:
    """Computes the A3C terms of a softmax policy.

        advantage        = G - V(s)
        policy           = -log pi(a|s) * stop_gradient(advantage)
        value            = advantage^2 / 2
        negative_entropy = sum_a pi(a|s) log pi(a|s)

    Args:
        logits: `[T, B, A]` float32, unnormalised log pi(.|s), finite.
        values: `[T, B]` float32, V(s).
        actions: `[T, B]` int32 or int64, actions taken, in [0, A).
        returns: `[T, B]` float32, n-step returns G. Treated as constants.

    Returns:
        Terms whose gradients reach `logits` and `values` only.

    Raises:
        ValueError: The shapes do not fit.

    Reference:
        Mnih et al. 2016, Algorithm S3; entropy from section 4, which S3 leaves out.
        https://arxiv.org/abs/1602.01783. Differs: the 1/2 in `value` is not there.
    """
    tf.debugging.assert_shapes(
        [(logits, "TBA"), (values, "TB"), (actions, "TB"), (returns, "TB")],
        message="advantage_actor_critic",
    )
    log_pi = tf.nn.log_softmax(logits)  # [T, B, A]
    log_pi_a = tf.gather(log_pi, actions, batch_dims=2)  # [T, B]
    negative_entropy = tf.reduce_sum(tf.exp(log_pi) * log_pi, axis=-1)
    return _terms(log_pi_a, negative_entropy, values, returns)


def gaussian_advantage_actor_critic(
    mean: tf.Tensor,
    variance: tf.Tensor,
    values: tf.Tensor,
    actions: tf.Tensor,
    returns: tf.Tensor,
) -> ActorCriticTerms:
    """Computes the A3C terms of a Gaussian policy, N(mu, sigma^2 I).

        log pi(a|s)      = -|a - mu|^2 / (2 sigma^2) - D/2 log(2 pi sigma^2)
        negative_entropy = -1/2 (log(2 pi sigma^2) + 1)

    `policy` and `value` are those of `advantage_actor_critic`. The entropy is the
    paper's: that of one dimension of the action. All D together have D times as much,
    since they are independent and alike: for that, multiply its weight by D.

    Args:
        mean: `[T, B, D]` float32, mu.
        variance: `[T, B]` float32, sigma^2, positive; one number for all dimensions.
        values: `[T, B]` float32, V(s).
        actions: `[T, B, D]` float32, actions as they were drawn: before an
            environment clips them to its bounds. Treated as constants.
        returns: `[T, B]` float32, n-step returns G. Treated as constants.

    Returns:
        Terms whose gradients reach `mean`, `variance` and `values` only.

    Raises:
        ValueError: The shapes do not fit.

    Reference:
        Mnih et al. 2016, section 9 ("Continuous Action Control Using the MuJoCo
        Physics Simulator") of the supplement. https://arxiv.org/abs/1602.01783.
        Differs: the 1/2 in `value` is not there.
    """
    tf.debugging.assert_shapes(
        [
            (mean, "TBD"),
            (variance, "TB"),
            (values, "TB"),
            (actions, "TBD"),
            (returns, "TB"),
        ],
        message="gaussian_advantage_actor_critic",
    )
    num_dimensions = tf.cast(tf.shape(mean)[-1], tf.float32)
    squared_distance = tf.reduce_sum(
        tf.math.squared_difference(tf.stop_gradient(actions), mean), axis=-1
    )  # [T, B]
    log_normaliser = tf.math.log(2.0 * math.pi * variance)  # [T, B], of one dimension.
    log_pi_a = -0.5 * (squared_distance / variance + num_dimensions * log_normaliser)
    return _terms(log_pi_a, -0.5 * (log_normaliser + 1.0), values, returns)


def _terms(
    log_pi_a: tf.Tensor,
    negative_entropy: tf.Tensor,
    values: tf.Tensor,
    returns: tf.Tensor,
) -> ActorCriticTerms:
    """Weighs log pi(a|s) by the advantage; all arguments are `[T, B]`."""
    advantage = tf.stop_gradient(returns) - values
    return ActorCriticTerms(
        policy=-log_pi_a * tf.stop_gradient(advantage),
        value=0.5 * tf.square(advantage),
        negative_entropy=negative_entropy,
    )
