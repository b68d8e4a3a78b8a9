"""Update rules, against hand computation, slow transcriptions and published code."""

import itertools

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from rlcomponents.parameters import update_rules

RULES = [
    pytest.param(rule, id=type(rule).__name__)
    for rule in (
        update_rules.SGD(),
        update_rules.MomentumSGD(0.9),
        update_rules.AdaGrad(initial_accumulator=0.1, epsilon=1e-3),
        update_rules.RMSProp(decay=0.9, epsilon=0.05),
        update_rules.Adam(beta1=0.8, beta2=0.95, epsilon=1e-3),
    )
]
SIZE = 1003  # No multiple of any vector width.


def make_problem(num_updates=20):
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=SIZE).astype(np.float32)
    gradients = rng.normal(size=(num_updates, SIZE)).astype(np.float32)
    rates = rng.uniform(1e-3, 1e-1, size=num_updates)
    return parameters, gradients, rates


def run(rule, parameters, gradients, rates):
    parameters = parameters.copy()
    state = rule.make_state(parameters.size)
    for gradient, rate in zip(gradients, rates, strict=True):
        rule.apply(parameters, gradient, state, rate)
    return parameters


def one_step(rule, gradient, num_updates=1):
    """Returns the last of some equal steps of one parameter, at learning rate 1."""
    parameters = np.zeros(1, np.float32)
    state = rule.make_state(1)
    for _ in range(num_updates):
        before = parameters.copy()
        rule.apply(parameters, np.array([gradient], np.float32), state, 1.0)
    return float(before[0] - parameters[0])


def transcribe(rule, p, gradients, rates):
    """The papers' formulas, in float64, one scalar parameter at a time."""
    m = v = s = 0.0
    if isinstance(rule, update_rules.AdaGrad):
        s = rule.initial_accumulator
    for t, (g, eta) in enumerate(zip(gradients, rates, strict=True), start=1):
        match rule:
            case update_rules.SGD():
                p -= eta * g
            case update_rules.MomentumSGD(momentum=a):
                m = a * m + (1 - a) * g
                p -= eta * m
            case update_rules.AdaGrad(epsilon=epsilon):
                s += g**2
                p -= eta * g / (np.sqrt(s) + epsilon)
            case update_rules.RMSProp(decay=a, epsilon=epsilon):
                s = a * s + (1 - a) * g**2
                p -= eta * g / np.sqrt(s + epsilon)
            case update_rules.Adam(beta1=b1, beta2=b2, epsilon=epsilon):
                m = b1 * m + (1 - b1) * g
                v = b2 * v + (1 - b2) * g**2
                m_hat = m / (1 - b1**t)
                v_hat = v / (1 - b2**t)
                p -= eta * m_hat / (np.sqrt(v_hat) + epsilon)
    return p


def make_published(rule, variable):
    """Returns `apply(gradient, rate)` of TensorFlow's kernels, or Sonnet's Adam."""
    slots = [tf.Variable(tf.zeros_like(variable)) for _ in range(2)]
    match rule:
        case update_rules.SGD():
            return lambda g, rate: tf.raw_ops.ResourceApplyGradientDescent(
                var=variable.handle, alpha=rate, delta=g
            )
        case update_rules.MomentumSGD(momentum=a):
            return lambda g, rate: tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=slots[0].handle,
                lr=rate,
                grad=(1 - a) * g,  # TensorFlow leaves the factor out.
                momentum=a,
            )
        case update_rules.AdaGrad(initial_accumulator=initial, epsilon=epsilon):
            slots[0].assign(tf.fill(variable.shape, initial))
            return lambda g, rate: tf.raw_ops.ResourceApplyAdagradV2(
                var=variable.handle,
                accum=slots[0].handle,
                lr=rate,
                epsilon=epsilon,
                grad=g,
            )
        case update_rules.RMSProp(decay=decay, epsilon=epsilon):
            return lambda g, rate: tf.raw_ops.ResourceApplyRMSProp(
                var=variable.handle,
                ms=slots[0].handle,
                mom=slots[1].handle,
                lr=rate,
                rho=decay,
                momentum=0.0,
                epsilon=epsilon,
                grad=g,
            )
        case update_rules.Adam(beta1=b1, beta2=b2, epsilon=epsilon):
            rate_variable = tf.Variable(0.0)
            optimiser = snt.optimizers.Adam(rate_variable, b1, b2, epsilon)

            def apply(g, rate):
                rate_variable.assign(rate)
                optimiser.apply([g], [variable])

            return apply


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_the_papers_formulas(rule):
    parameters, gradients, rates = make_problem()
    ours = run(rule, parameters, gradients, rates)
    for i in range(0, SIZE, 50):
        expected = transcribe(rule, float(parameters[i]), gradients[:, i], rates)
        np.testing.assert_allclose(ours[i], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_rules_agree_with_published_implementations(rule):
    parameters, gradients, rates = make_problem()
    variable = tf.Variable(tf.constant(parameters.copy()))
    apply = make_published(rule, variable)
    for gradient, rate in zip(gradients, rates, strict=True):
        apply(tf.constant(gradient.copy()), rate)
    ours = run(rule, parameters, gradients, rates)
    np.testing.assert_allclose(ours, variable.numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cuts", [(1,), (500,), (3, 17, 64, 999), range(1, SIZE, 7)])
def test_a_cut_vector_goes_the_same_way_to_the_bit(rule, cuts):
    parameters, gradients, rates = make_problem()
    whole = run(rule, parameters, gradients, rates)
    ends = [0, *cuts, SIZE]
    parts = [
        run(rule, parameters[a:b], gradients[:, a:b].copy(), rates)
        for a, b in itertools.pairwise(ends)
    ]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_shared_rmsprop_statistics():
    # Two workers each send gradient 1 to one statistic that starts at 0.
    rule = update_rules.RMSProp(decay=0.99, epsilon=0.1)
    assert one_step(rule, 1.0, 1) == pytest.approx(3.0151, abs=1e-4)  # (.01 + .1)^-.5
    assert one_step(rule, 1.0, 2) == pytest.approx(2.8880, abs=1e-4)  # (.0199 + .1)^-.5


def test_rmsprop_epsilon_is_inside_the_root():
    rule = update_rules.RMSProp(decay=0.99, epsilon=0.1)
    # 0.01 / sqrt(1e-6 + 0.1); outside it would be 0.01 / (1e-3 + 0.1) = 0.0990.
    assert one_step(rule, 0.01) == pytest.approx(0.0316, abs=1e-4)


def test_adagrad_starts_from_its_initial_accumulator():
    assert one_step(update_rules.AdaGrad(0.0, 1e-7), 0.5) == pytest.approx(1.0)
    rule = update_rules.AdaGrad(initial_accumulator=0.75, epsilon=0.0)
    assert one_step(rule, 0.5) == pytest.approx(0.5)  # 0.5 / sqrt(0.75 + 0.25)
    assert one_step(rule, 0.5, 6) == pytest.approx(1 / 3)  # 0.5 / sqrt(0.75 + 1.5)


def test_momentum_sgd_weighs_the_new_gradient_by_one_minus_momentum():
    rule = update_rules.MomentumSGD(momentum=0.75)
    assert one_step(rule, 1.0, 1) == 0.25
    assert one_step(rule, 1.0, 2) == 0.4375  # 0.75 * 0.25 + 0.25


def test_adam_corrects_its_bias_by_the_count_in_its_state():
    rule = update_rules.Adam(0.5, 0.5, epsilon=1.0)
    for num_updates in (1, 2, 3):  # Equal gradients: m_hat = 3 and v_hat = 9.
        assert one_step(rule, 3.0, num_updates) == pytest.approx(0.75)  # 3 / (3 + 1)
    state = rule.make_state(2)
    rule.apply(np.zeros(2, np.float32), np.ones(2, np.float32), state, 1.0)
    assert state["count"] == 1


@pytest.mark.parametrize("rule", RULES)
def test_a_zero_gradient_changes_nothing_at_first(rule):
    parameters = np.ones(3, np.float32)
    rule.apply(parameters, np.zeros(3, np.float32), rule.make_state(3), 1.0)
    np.testing.assert_array_equal(parameters, np.ones(3))


@pytest.mark.parametrize("rule", RULES)
def test_state_is_float32_and_the_gradient_stays(rule):
    gradient = np.arange(3, dtype=np.float32)
    state = rule.make_state(3)
    rule.apply(np.ones(3, np.float32), gradient, state, 1.0)
    np.testing.assert_array_equal(gradient, [0, 1, 2])
    assert gradient.flags.writeable
    assert all(slot.dtype == np.float32 for slot in state.values())


@pytest.mark.parametrize(
    ("parameters", "gradient", "slot", "message"),
    [
        (np.zeros(3), np.zeros(3, np.float32), None, "parameters is float64"),
        (np.zeros(3, np.float32), np.zeros(3), None, "gradient is float64"),
        (np.zeros(3, np.float32), np.zeros(2, np.float32), None, r"shape \(2,\)"),
        (np.zeros((3, 1), np.float32), np.zeros(3, np.float32), None, r"\(3, 1\)"),
        (np.zeros(6, np.float32)[::2], np.zeros(3, np.float32), None, "contiguous"),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), 2, "momentum is float32"),
    ],
)
def test_other_arrays_are_refused(parameters, gradient, slot, message):
    rule = update_rules.MomentumSGD()
    state = rule.make_state(slot or 3)
    with pytest.raises(ValueError, match=message):
        rule.apply(parameters, gradient, state, 1.0)


@pytest.mark.parametrize(
    ("make_rule", "message"),
    [
        (lambda: update_rules.MomentumSGD(1.0), r"momentum is 1\.0: give 0 or more"),
        (lambda: update_rules.RMSProp(decay=-0.1), r"decay is -0\.1"),
        (lambda: update_rules.RMSProp(epsilon=0.0), r"epsilon is 0\.0"),
        (lambda: update_rules.AdaGrad(initial_accumulator=-1), "accumulator is -1"),
        (lambda: update_rules.AdaGrad(0.0, 0.0), "are both 0"),
        (lambda: update_rules.Adam(beta1=float("nan")), "beta1 is nan"),
        (lambda: update_rules.Adam(epsilon=float("inf")), "epsilon is inf"),
    ],
)
def test_bad_settings_are_refused(make_rule, message):
    with pytest.raises(ValueError, match=message):
        make_rule()


@pytest.mark.parametrize(
    "rule", [update_rules.MomentumSGD(0.9), update_rules.RMSProp()]
)
def test_private_statistics_give_finished_steps_for_plain_sgd(rule):
    parameters, gradients, _ = make_problem()
    private = update_rules.PrivateStatistics(rule, SIZE)
    steps = [private.step(gradient) for gradient in gradients]
    rates = [0.1] * len(steps)
    np.testing.assert_allclose(
        run(update_rules.SGD(), parameters, steps, rates),
        run(rule, parameters, gradients, rates),
        rtol=1e-5,
        atol=1e-6,
    )


def test_two_workers_with_private_statistics_do_not_mix_them():
    rule = update_rules.RMSProp(decay=0.99, epsilon=0.1)
    gradient = np.ones(1, np.float32)
    for _ in range(2):
        private = update_rules.PrivateStatistics(rule, 1)
        assert private.step(gradient) == pytest.approx(3.0151, abs=1e-4)
