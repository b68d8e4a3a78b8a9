"""Tests of rlcomponents.direct_calls."""

from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from agents.a3c import config as a3c_config
from agents.a3c import strategy as strategies
from rlcomponents import direct_calls, specs


class Pair(NamedTuple):
    """A nest."""

    first: tf.Tensor
    second: tf.Tensor


def test_nests_go_in_and_come_out():
    call = direct_calls.DirectCall(
        lambda pair, factor: (factor * pair.second, Pair(pair.first + 1.0, factor))
    )
    twice, pair = call(
        Pair(np.float32([1.0, 2.0]), tf.constant([3.0])), np.array([2.0], np.float32)
    )
    np.testing.assert_array_equal(twice, [6.0])
    assert type(pair) is Pair
    np.testing.assert_array_equal(pair.first, [2.0, 3.0])
    np.testing.assert_array_equal(pair.second, [2.0])


def test_variables_are_read_and_written_at_each_call():
    variable = tf.Variable([1.0])

    def add(value):
        variable.assign_add(value)
        return ()

    read = direct_calls.DirectCall(lambda value: variable + value)
    write = direct_calls.DirectCall(add)
    value = np.ones(1, np.float32)
    seen = [read(value).numpy().item()]
    for _ in range(2):
        assert write(value) == ()
        seen.append(read(value).numpy().item())
    assert seen == [2.0, 3.0, 4.0]


def test_many_shapes_are_traced_twice():
    call = direct_calls.DirectCall(tf.reduce_sum)
    sums = [call(np.ones(size, np.float32)).numpy() for size in (1, 2, 3, 4, 2)]
    assert sums == [1.0, 2.0, 3.0, 4.0, 2.0]
    assert call.num_traces == 2


def test_overwriting_an_argument_leaves_the_result():
    call = direct_calls.DirectCall(lambda value: value + 0.0)
    value = np.ones(1024, np.float32)
    result = call(value)
    value[:] = 2.0
    np.testing.assert_array_equal(result, np.ones(1024))


def test_another_dtype_is_refused():
    call = direct_calls.DirectCall(lambda value: value + 1)
    call(np.ones(1, np.float32))
    with pytest.raises(tf.errors.OpError):
        call(np.ones(1, np.int32))


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_network_says_and_learns_what_it_does_as_a_tf_function(recurrent):
    config = a3c_config.A3CConfig(environment="atari:pong", recurrent=recurrent)
    spec = specs.make_environment_spec(config.make_environment_factory()(0))
    strategy = strategies.make_strategy(config, spec, 0)
    rng = np.random.default_rng(0)
    state = strategy.initial_state(2)
    arguments = (
        rng.integers(256, size=(3, 2, *spec.observations.shape), dtype=np.uint8),
        rng.random((3, 2)) < 0.5,
        rng.integers(6, size=(3, 2), dtype=np.int32),
        rng.standard_normal((3, 2), np.float32),
    )

    def unroll(observations, is_first, state):
        policy, values, next_state = strategy._network.unroll(
            observations, is_first, state
        )
        return policy.logits, values, next_state

    def gradient(*arguments):
        return strategy._loss_and_gradient(*arguments)

    for function, given in ((unroll, arguments[:2]), (gradient, arguments)):
        expected = tf.function(function)(*map(tf.constant, given), state)
        found = direct_calls.DirectCall(function)(*given, state)
        tf.nest.map_structure(np.testing.assert_array_equal, found, expected)
