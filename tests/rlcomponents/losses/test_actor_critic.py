"""Tests of rlcomponents.losses.actor_critic."""

import math

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
import trfl

from rlcomponents.losses import actor_critic

LN2 = math.log(2.0)
LN_2PI = math.log(2.0 * math.pi)


def _softmax_rollout(num_steps=5, batch_size=3, num_actions=4):
    rng = np.random.default_rng(0)
    shape = [num_steps, batch_size]
    values, returns = rng.normal(size=[2, *shape])
    return {
        "logits": tf.constant(2.0 * rng.normal(size=[*shape, num_actions]), tf.float32),
        "values": tf.constant(values, tf.float32),
        "actions": tf.constant(rng.integers(num_actions, size=shape), tf.int32),
        "returns": tf.constant(returns, tf.float32),
    }


def _gaussian_rollout(num_steps=5, batch_size=3, num_dimensions=2):
    rng = np.random.default_rng(0)
    shape = [num_steps, batch_size]
    values, returns = rng.normal(size=[2, *shape])
    mean, actions = rng.normal(size=[2, *shape, num_dimensions])
    return {
        "mean": tf.constant(mean, tf.float32),
        "variance": tf.constant(rng.uniform(0.2, 3.0, size=shape), tf.float32),
        "values": tf.constant(values, tf.float32),
        "actions": tf.constant(actions, tf.float32),
        "returns": tf.constant(returns, tf.float32),
    }


RULES = [
    pytest.param(actor_critic.advantage_actor_critic, _softmax_rollout, id="softmax"),
    pytest.param(
        actor_critic.gaussian_advantage_actor_critic, _gaussian_rollout, id="gaussian"
    ),
]


@pytest.mark.parametrize(
    ("value", "policy_term", "value_term"),
    [
        pytest.param(1.0, 2 * LN2, 2.0, id="better-than-expected"),  # A = 3 - 1
        pytest.param(3.0, 0.0, 0.0, id="as-expected"),  # A = 3 - 3
        pytest.param(5.0, -2 * LN2, 2.0, id="worse-than-expected"),  # A = 3 - 5
    ],
)
def test_softmax_terms_match_hand_computation(value, policy_term, value_term):
    terms = actor_critic.advantage_actor_critic(
        logits=tf.zeros([1, 1, 2]),  # Two equally likely actions: log pi = -ln 2.
        values=tf.constant([[value]]),
        actions=tf.constant([[1]]),
        returns=tf.constant([[3.0]]),
    )
    np.testing.assert_allclose(terms.policy, [[policy_term]], rtol=1e-6)
    np.testing.assert_allclose(terms.value, [[value_term]], rtol=1e-6)
    np.testing.assert_allclose(terms.negative_entropy, [[-LN2]], rtol=1e-6)


@pytest.mark.parametrize(
    ("action", "probability"), [(0, 1 / 2), (1, 1 / 3), (2, 1 / 6)]
)
def test_the_policy_term_takes_the_probability_of_the_action(action, probability):
    terms = actor_critic.advantage_actor_critic(
        logits=tf.math.log([[[3.0, 2.0, 1.0]]]),
        values=tf.constant([[0.0]]),
        actions=tf.constant([[action]]),
        returns=tf.constant([[1.0]]),
    )
    np.testing.assert_allclose(terms.policy, [[-math.log(probability)]], rtol=1e-6)


def test_gaussian_terms_match_hand_computation():
    """mu = (0, 0), sigma^2 = 4, a = (2, 4): |a - mu|^2 / (2 sigma^2) = 20 / 8."""
    terms = actor_critic.gaussian_advantage_actor_critic(
        mean=tf.zeros([1, 1, 2]),
        variance=tf.constant([[4.0]]),
        values=tf.constant([[1.0]]),
        actions=tf.constant([[[2.0, 4.0]]]),
        returns=tf.constant([[3.0]]),
    )
    log_of_variance = 2 * LN2
    log_pi = -20 / 8 - 2 / 2 * (LN_2PI + log_of_variance)
    np.testing.assert_allclose(terms.policy, [[-2 * log_pi]], rtol=1e-6)
    np.testing.assert_allclose(terms.value, [[2.0]], rtol=1e-6)
    np.testing.assert_allclose(  # Of one dimension, however many there are.
        terms.negative_entropy, [[-0.5 * (LN_2PI + log_of_variance + 1)]], rtol=1e-6
    )


def test_softmax_terms_match_a_slow_numpy_version():
    rollout = _softmax_rollout()
    terms = actor_critic.advantage_actor_critic(**rollout)
    logits, values, actions, returns = (x.numpy() for x in rollout.values())
    for step in range(5):
        for row in range(3):
            pi = np.exp(logits[step, row]) / np.sum(np.exp(logits[step, row]))
            advantage = returns[step, row] - values[step, row]
            expected = (
                -np.log(pi[actions[step, row]]) * advantage,
                advantage**2 / 2,
                np.sum(pi * np.log(pi)),
            )
            computed = [term[step, row] for term in terms]
            np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-6)


def test_gaussian_terms_match_a_slow_numpy_version():
    rollout = _gaussian_rollout()
    terms = actor_critic.gaussian_advantage_actor_critic(**rollout)
    mean, variance, values, actions, returns = (x.numpy() for x in rollout.values())
    for step in range(5):
        for row in range(3):
            density = 1.0
            for mu, action in zip(mean[step, row], actions[step, row], strict=True):
                sigma2 = variance[step, row]
                density *= np.exp(-((action - mu) ** 2) / (2 * sigma2))
                density /= np.sqrt(2 * np.pi * sigma2)
            advantage = returns[step, row] - values[step, row]
            expected = (
                -np.log(density) * advantage,
                advantage**2 / 2,
                -0.5 * (np.log(2 * np.pi * variance[step, row]) + 1),
            )
            computed = [term[step, row] for term in terms]
            np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-6)


def test_softmax_terms_agree_with_trfl():
    rollout = _softmax_rollout()
    terms = actor_critic.advantage_actor_critic(**rollout)
    policy = trfl.discrete_policy_gradient_loss(
        rollout["logits"], rollout["actions"], rollout["returns"] - rollout["values"]
    )
    entropy = trfl.discrete_policy_entropy_loss(rollout["logits"])
    summed = tf.reduce_sum(terms.policy, axis=0)  # Theirs is a sum over the rollout.
    np.testing.assert_allclose(summed, policy, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(terms.negative_entropy, entropy.loss, rtol=1e-5)


def test_gaussian_terms_agree_with_tensorflow_probability():
    rollout = _gaussian_rollout()
    terms = actor_critic.gaussian_advantage_actor_critic(**rollout)
    sigma = tf.sqrt(rollout["variance"])
    policy = tfp.distributions.MultivariateNormalDiag(
        rollout["mean"], sigma[..., None] * tf.ones([2])
    )
    expected = -policy.log_prob(rollout["actions"]) * (
        rollout["returns"] - rollout["values"]
    )
    np.testing.assert_allclose(terms.policy, expected, rtol=1e-4, atol=1e-5)
    one_dimension = tfp.distributions.Normal(0.0, sigma).entropy()
    np.testing.assert_allclose(terms.negative_entropy, -one_dimension, rtol=1e-5)
    # What the documentation says about all dimensions together.
    np.testing.assert_allclose(2 * terms.negative_entropy, -policy.entropy(), rtol=1e-5)


@pytest.mark.parametrize(("rule", "make_rollout"), RULES)
@pytest.mark.parametrize(
    ("term", "reached"),
    [
        ("policy", {"logits", "mean", "variance"}),  # Not the values: no critic.
        ("value", {"values"}),
        ("negative_entropy", {"logits", "variance"}),
    ],
)
def test_each_term_reaches_its_own_arguments_and_no_others(
    rule, make_rollout, term, reached
):
    rollout = make_rollout()
    watched = {name: x for name, x in rollout.items() if x.dtype == tf.float32}
    with tf.GradientTape() as tape:
        tape.watch(watched)
        loss = getattr(rule(**rollout), term)
    gradients = tape.gradient(loss, watched)
    found = {name for name, gradient in gradients.items() if gradient is not None}
    assert found == reached & rollout.keys()
    assert all(np.all(gradients[name] != 0.0) for name in found)


def test_the_gradient_of_the_softmax_policy_term_is_the_policy_gradient():
    """d(-log pi(a) A) / d logits = (pi - one_hot(a)) A."""
    rollout = _softmax_rollout()
    with tf.GradientTape() as tape:
        tape.watch(rollout["logits"])
        loss = actor_critic.advantage_actor_critic(**rollout).policy
    advantage = (rollout["returns"] - rollout["values"])[..., None]
    expected = (
        tf.nn.softmax(rollout["logits"]) - tf.one_hot(rollout["actions"], 4)
    ) * advantage
    computed = tape.gradient(loss, rollout["logits"])
    np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-6)


def test_the_gradient_of_the_gaussian_policy_term_is_the_policy_gradient():
    """d(-log pi(a) A) / d mu = -(a - mu) / sigma^2 A."""
    rollout = _gaussian_rollout()
    with tf.GradientTape() as tape:
        tape.watch(rollout["mean"])
        loss = actor_critic.gaussian_advantage_actor_critic(**rollout).policy
    advantage = (rollout["returns"] - rollout["values"])[..., None]
    distance = rollout["actions"] - rollout["mean"]
    expected = -distance / rollout["variance"][..., None] * advantage
    computed = tape.gradient(loss, rollout["mean"])
    np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("entropy_weight", [0.0, 1.0])
def test_without_weight_on_the_value_the_value_head_gets_no_gradient(entropy_weight):
    """Not even a little through the advantage that weighs the policy gradient."""
    features = tf.constant(np.random.default_rng(0).normal(size=[5, 3, 2]), tf.float32)
    torso, policy_head, value_head = (
        tf.Variable(np.random.default_rng(seed).normal(size=shape), dtype=tf.float32)
        for seed, shape in enumerate([(2, 6), (6, 4), (6, 1)])
    )
    rollout = _softmax_rollout()
    with tf.GradientTape() as tape:
        hidden = tf.tanh(features @ torso)
        terms = actor_critic.advantage_actor_critic(
            logits=hidden @ policy_head,
            values=tf.squeeze(hidden @ value_head, axis=-1),
            actions=rollout["actions"],
            returns=rollout["returns"],
        )
        loss = tf.reduce_sum(
            terms.policy + entropy_weight * terms.negative_entropy + 0.0 * terms.value
        )
    of_torso, of_policy, of_value = tape.gradient(
        loss, [torso, policy_head, value_head]
    )
    np.testing.assert_array_equal(of_value, np.zeros([6, 1]))
    assert np.any(of_torso)
    assert np.any(of_policy)


def test_all_steps_of_a_rollout_count_the_one_before_a_termination_too():
    """Rewards 0, 0, 1, terminal, gamma 0.9: returns 0.81, 0.9, 1."""
    terms = actor_critic.advantage_actor_critic(
        logits=tf.zeros([3, 1, 2]),
        values=tf.zeros([3, 1]),
        actions=tf.zeros([3, 1], tf.int32),
        returns=tf.constant([[0.81], [0.9], [1.0]]),
    )
    np.testing.assert_allclose(
        terms.policy, [[0.81 * LN2], [0.9 * LN2], [LN2]], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("rule", "make_rollout", "name", "shape"),
    [
        pytest.param(*RULES[0].values, "returns", [5], id="no-batch-axis"),
        pytest.param(*RULES[0].values, "values", [5, 3, 1], id="a-column-of-values"),
        pytest.param(*RULES[0].values, "logits", [5, 2, 4], id="another-batch-size"),
        pytest.param(*RULES[1].values, "variance", [5, 3, 2], id="variance-per-action"),
        pytest.param(*RULES[1].values, "actions", [5, 3, 1], id="another-action-size"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(rule, make_rollout, name, shape):
    with pytest.raises(ValueError, match="advantage_actor_critic"):
        rule(**{**make_rollout(), name: tf.zeros(shape)})


@pytest.mark.parametrize(("rule", "make_rollout"), RULES)
def test_a_graph_with_unknown_sizes_computes_the_same(rule, make_rollout):
    rollout = make_rollout()
    compiled = tf.function(
        lambda rollout: rule(**rollout),
        input_signature=[
            {
                name: tf.TensorSpec([None, None, *x.shape[2:]], x.dtype)
                for name, x in rollout.items()
            }
        ],
    )
    for ours, theirs in zip(compiled(rollout), rule(**rollout), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
