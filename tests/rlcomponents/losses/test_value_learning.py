"""Tests of rlcomponents.losses.value_learning."""

import numpy as np
import pytest
import tensorflow as tf
import trfl

from rlcomponents.losses import value_learning


def _random_batch(batch_size=16, num_actions=5):
    rng = np.random.default_rng(0)
    q_tm1, q_t, q_selector = rng.normal(size=(3, batch_size, num_actions))
    return {
        "q_tm1": tf.constant(q_tm1, tf.float32),
        "a_tm1": tf.constant(rng.integers(num_actions, size=batch_size), tf.int32),
        "r_t": tf.constant(rng.normal(size=batch_size), tf.float32),
        "discount_t": tf.constant(rng.choice([0.0, 0.9], size=batch_size), tf.float32),
        "q_t": tf.constant(q_t, tf.float32),
        "q_selector": tf.constant(q_selector, tf.float32),
    }


def _q_learning(batch, **settings):
    names = ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t")
    return value_learning.q_learning(*(batch[name] for name in names), **settings)


def _double_q_learning(batch, **settings):
    names = ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t", "q_selector")
    return value_learning.double_q_learning(
        *(batch[name] for name in names), **settings
    )


def test_q_learning_matches_hand_computation():
    terms = value_learning.q_learning(
        q_tm1=tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        a_tm1=tf.constant([0, 1]),
        r_t=tf.constant([1.0, -1.0]),
        discount_t=tf.constant([0.5, 0.0]),
        q_t=tf.constant([[4.0, 6.0], [7.0, 8.0]]),
    )
    np.testing.assert_allclose(terms.target, [4.0, -1.0])  # 1 + 0.5 * 6; -1
    np.testing.assert_allclose(terms.td_error, [3.0, -5.0])  # 4 - 1; -1 - 4
    np.testing.assert_allclose(terms.loss, [4.5, 12.5])  # 9 / 2; 25 / 2


def test_double_q_learning_values_the_action_that_the_selector_prefers():
    terms = value_learning.double_q_learning(
        q_tm1=tf.constant([[1.0, 2.0]]),
        a_tm1=tf.constant([1]),
        r_t=tf.constant([1.0]),
        discount_t=tf.constant([0.5]),
        q_t_target=tf.constant([[4.0, 6.0]]),
        q_t_selector=tf.constant([[9.0, 8.0]]),  # Prefers action 0, worth 4.
    )
    np.testing.assert_allclose(terms.target, [3.0])  # 1 + 0.5 * 4
    np.testing.assert_allclose(terms.td_error, [1.0])
    np.testing.assert_allclose(terms.loss, [0.5])


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
def test_truncation_is_not_termination(rule):
    """A time limit bootstraps from the best next value, 10; a termination does not."""
    terms = rule(
        {
            "q_tm1": tf.zeros([2, 2]),
            "a_tm1": tf.constant([0, 0]),
            "r_t": tf.constant([1.0, 1.0]),
            "discount_t": tf.constant([0.9, 0.0]),
            "q_t": tf.constant([[10.0, 3.0], [10.0, 3.0]]),
            "q_selector": tf.constant([[1.0, 0.0], [1.0, 0.0]]),
        }
    )
    np.testing.assert_allclose(terms.target, [10.0, 1.0])


def test_q_learning_agrees_with_trfl():
    batch = _random_batch()
    ours = _q_learning(batch)
    theirs = trfl.qlearning(
        *(batch[name] for name in ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t"))
    )
    np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-6)
    np.testing.assert_allclose(ours.target, theirs.extra.target, rtol=1e-6)
    np.testing.assert_allclose(ours.td_error, theirs.extra.td_error, rtol=1e-6)


def test_double_q_learning_agrees_with_trfl():
    batch = _random_batch()
    ours = _double_q_learning(batch)
    names = ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t", "q_selector")
    theirs = trfl.double_qlearning(*(batch[name] for name in names))
    np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-6)
    np.testing.assert_allclose(ours.target, theirs.extra.target, rtol=1e-6)


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
def test_the_gradient_is_minus_the_error_at_the_action_taken_and_nowhere_else(rule):
    batch = _random_batch()
    others = [value for name, value in batch.items() if name not in ("q_tm1", "a_tm1")]
    with tf.GradientTape() as tape:
        tape.watch([batch["q_tm1"], *others])
        terms = rule(batch)
        total = tf.reduce_sum(terms.loss) + 0.0 * tf.reduce_sum(terms.target)
    of_q_tm1, *of_others = tape.gradient(total, [batch["q_tm1"], *others])

    expected = np.zeros([16, 5])
    expected[np.arange(16), batch["a_tm1"]] = -terms.td_error.numpy()
    np.testing.assert_allclose(of_q_tm1, expected, rtol=1e-6)
    assert of_others == [None] * 4  # Rewards, discounts and both next values.


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
@pytest.mark.parametrize(
    ("reward", "loss", "gradient"),
    [
        pytest.param(0.5, 0.125, -0.5, id="inside"),  # 0.25 / 2
        pytest.param(1.0, 0.5, -1.0, id="at-the-bound"),
        pytest.param(3.0, 2.5, -1.0, id="above"),  # 1 / 2 + 1 * (3 - 1)
        pytest.param(-3.0, 2.5, 1.0, id="below"),
        pytest.param(0.0, 0.0, 0.0, id="no-error"),
    ],
)
def test_error_clipping_bounds_the_gradient_and_leaves_the_error(
    rule, reward, loss, gradient
):
    q_tm1 = tf.zeros([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(q_tm1)
        terms = rule(
            {
                "q_tm1": q_tm1,
                "a_tm1": tf.constant([1]),
                "r_t": tf.constant([reward]),
                "discount_t": tf.zeros([1]),
                "q_t": tf.zeros([1, 2]),
                "q_selector": tf.zeros([1, 2]),
            },
            max_abs_td_error=1.0,
        )
    np.testing.assert_allclose(terms.loss, [loss])
    np.testing.assert_allclose(terms.td_error, [reward])
    np.testing.assert_allclose(tape.gradient(terms.loss, q_tm1), [[0.0, gradient]])


def test_a_bound_other_than_one_scales_the_linear_part():
    terms = value_learning.q_learning(
        tf.zeros([1, 1]),
        tf.constant([0]),
        tf.constant([5.0]),
        tf.zeros([1]),
        tf.zeros([1, 1]),
        max_abs_td_error=2.0,
    )
    np.testing.assert_allclose(terms.loss, [8.0])  # 4 / 2 + 2 * (5 - 2)


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_that_is_not_positive_is_refused(rule, bound):
    with pytest.raises(ValueError, match="max_abs_td_error"):
        rule(_random_batch(), max_abs_td_error=bound)


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        pytest.param("r_t", [16, 1], id="a-column-would-broadcast"),
        pytest.param("discount_t", [], id="a-scalar-would-broadcast"),
        pytest.param("q_t", [16, 4], id="another-number-of-actions"),
        pytest.param("q_tm1", [15, 5], id="another-batch-size"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(rule, name, shape):
    with pytest.raises(ValueError, match="q_learning"):
        rule({**_random_batch(), name: tf.zeros(shape)})


@pytest.mark.parametrize("rule", [_q_learning, _double_q_learning])
def test_a_graph_with_unknown_batch_size_computes_the_same(rule):
    batch = _random_batch()
    compiled = tf.function(
        lambda batch: rule(batch, max_abs_td_error=1.0),
        input_signature=[
            {
                name: tf.TensorSpec([None, *value.shape[1:]], value.dtype)
                for name, value in batch.items()
            }
        ],
    )
    np.testing.assert_allclose(
        compiled(batch).loss, rule(batch, max_abs_td_error=1.0).loss, rtol=1e-6
    )
