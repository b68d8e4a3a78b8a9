"""Tests of the random policy."""

import collections

import numpy as np
import pytest
from dm_env import specs

from rlcomponents.evaluation import random_policy


def draw(spec, seed, num_draws):
    actor = random_policy.RandomActor(spec, seed)
    return [actor.select_action(np.zeros(1)) for _ in range(num_draws)]


def test_every_discrete_action_is_drawn_about_equally_often():
    counts = collections.Counter(map(int, draw(specs.DiscreteArray(3), 0, 3000)))
    assert sorted(counts) == [0, 1, 2]
    assert min(counts.values()) > 900


def test_actions_need_not_start_at_zero():
    spec = specs.BoundedArray((), np.int32, -1, 1)
    actions = draw(spec, 0, 100)
    assert {int(action) for action in actions} == {-1, 0, 1}
    for action in actions:
        spec.validate(action)


def test_continuous_actions_fill_their_box():
    spec = specs.BoundedArray((2,), np.float32, [-1.0, 0.0], [1.0, 10.0])
    actions = np.stack(draw(spec, 0, 1000))
    spec.validate(actions[0])
    np.testing.assert_allclose(actions.min(axis=0), [-1, 0], atol=0.1)
    np.testing.assert_allclose(actions.max(axis=0), [1, 10], atol=0.1)


def test_a_seed_decides_the_actions():
    spec = specs.DiscreteArray(10)
    assert draw(spec, 1, 20) == draw(spec, 1, 20)
    assert draw(spec, 1, 20) != draw(spec, 2, 20)


@pytest.mark.parametrize(
    "spec",
    [
        specs.Array((), np.float32),
        specs.BoundedArray((1,), np.float32, -np.inf, np.inf),
    ],
)
def test_a_spec_without_bounds_is_refused(spec):
    with pytest.raises(ValueError, match="finite bounds"):
        random_policy.RandomActor(spec, 0)
