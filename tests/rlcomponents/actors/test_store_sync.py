"""Tests of rlcomponents.actors.store_sync."""

import numpy as np
import tensorflow as tf

from rlcomponents import schedules
from rlcomponents.actors import store_sync
from rlcomponents.parameters import local_store, tf_variables, update_rules
from rlcomponents.testing import fakes

ONES = np.ones(2, np.float32)


def make_variables(values):
    return tf_variables.FlatVariables([tf.Variable(values)])


def make_store():
    return fakes.RecordingStore(
        local_store.LocalStore(
            make_variables([0.0, 0.0]).layout,
            update_rules.SGD(),
            schedules.Constant(1.0),
            max_staleness_updates=None,
            target_period_updates=None,
        )
    )


def test_the_first_actor_offers_its_values_and_others_take_them():
    store = make_store()
    for values in ([1.0, 2.0], [3.0, 4.0]):
        variables = make_variables(values)
        sync = store_sync.StoreSync(store, variables, period_steps=1)
        np.testing.assert_array_equal(variables.vector(), [1.0, 2.0])
        np.testing.assert_array_equal(sync.snapshot.vector, [1.0, 2.0])


def test_variables_are_fresh_once_a_period():
    store, variables = make_store(), make_variables([0.0, 0.0])
    sync = store_sync.StoreSync(store, variables, period_steps=3)
    seen = []
    for _ in range(7):
        store.push(ONES, store.pull().versions, 0)
        sync.step()
        seen.append(-variables.vector()[0])
    assert seen == [0, 0, 3, 3, 3, 6, 6]
    assert sync.snapshot.updates == 6


def test_every_step_is_counted_once():
    store = make_store()
    sync = store_sync.StoreSync(store, make_variables([0.0, 0.0]), period_steps=3)
    counts = []
    for _ in range(7):
        sync.step()
        counts.append(store.statistics().steps)
    assert counts == [0, 0, 3, 3, 3, 6, 6]
    assert store.counted == [("add_steps", 3), ("add_steps", 3)]


def test_the_snapshot_knows_the_steps_just_counted():
    store = make_store()
    store.add_steps(100)
    sync = store_sync.StoreSync(store, make_variables([0.0, 0.0]), period_steps=1)
    sync.step()
    assert sync.snapshot.steps == 101


def test_a_pull_in_between_loses_no_steps():
    store, variables = make_store(), make_variables([0.0, 0.0])
    sync = store_sync.StoreSync(store, variables, period_steps=3)
    sync.step()
    sync.step()
    store.push(ONES, store.pull().versions, 0)
    assert sync.pull().updates == 1
    np.testing.assert_array_equal(variables.vector(), -ONES)
    assert store.statistics().steps == 0
    sync.step()
    assert store.statistics().steps == 3
