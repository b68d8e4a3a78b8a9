"""Tests of rlcomponents.learners.target_copy."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents import schedules
from rlcomponents.learners import target_copy
from rlcomponents.parameters import shard, sharded_client, tf_variables, update_rules
from rlcomponents.testing import fakes, in_process


class Setup:
    """Two shards of one parameter each; targets are copied every 10 agent steps."""

    def __init__(self):
        self.shards = [
            shard.ParameterShard(
                update_rules.SGD(),
                schedules.Constant(1.0),
                max_staleness_updates=None,
                target_period_updates=None,
                target_period_steps=10,
            )
            for _ in range(2)
        ]
        self.variables = tf_variables.FlatVariables([tf.Variable([7.0, 7.0])])
        self.store = fakes.RecordingStore(
            sharded_client.ShardedClient(
                self.variables.layout,
                [in_process.InProcessClient(each) for each in self.shards],
                should_stop=lambda: False,
            )
        )
        self.store.initialise(np.zeros(2, np.float32))
        self.copy = target_copy.TargetCopy(self.store, self.variables)

    def push_to(self, index, *, steps):
        """Pushes a gradient of -1 to one shard alone."""
        _, (_, epoch, updates, *_) = self.shards[index].pull()
        self.shards[index].push(np.float32([-1]).tobytes(), epoch, updates, steps)

    def follow(self):
        self.copy.follow(self.store.pull())
        return self.variables.vector().tolist()


def test_the_first_copy_is_the_initial_parameters():
    assert Setup().follow() == [0.0, 0.0]


def test_a_copy_that_one_shard_takes_later_is_not_missed():
    setup = Setup()
    setup.follow()
    setup.push_to(0, steps=12)  # Shard 1 has not heard of it yet.
    assert setup.follow() == [1.0, 0.0]
    setup.push_to(1, steps=12)
    assert setup.follow() == [1.0, 1.0]


def test_a_copy_is_fetched_once():
    setup = Setup()
    for steps in (4, 4, 4, 4, 4):
        for index in range(2):
            setup.push_to(index, steps=steps)
        setup.follow()
        setup.follow()
    assert setup.store.num_target_pulls == 3  # At first, at 12 and at 20 steps.


@pytest.mark.parametrize("index", [0, 1])
def test_the_copy_of_a_shard_that_was_restored_is_fetched_again(index):
    setup = Setup()
    setup.follow()
    other = Setup().shards[index]
    other_state = other.save()
    other_state["target_parameters"][:] = 5.0
    setup.shards[index].restore(other_state)  # Also of version 0, in another epoch.
    assert setup.follow()[index] == 5.0


def test_a_copy_taken_between_the_two_pulls_is_not_fetched_again():
    setup = Setup()
    snapshot = setup.store.pull()
    for index in range(2):
        setup.push_to(index, steps=12)
    setup.copy.follow(snapshot)
    assert setup.follow() == [1.0, 1.0]
    assert setup.store.num_target_pulls == 1
