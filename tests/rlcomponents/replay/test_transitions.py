"""Tests of rlcomponents.replay.transitions."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
import tree

from rlcomponents.replay import batches, transitions
from rlcomponents.testing import fake_replay


def _transition():
    return transitions.Transition(
        observation={"speed": np.float32(1)},
        action=np.int32(2),
        reward=np.float32(3),
        discount=np.float32(0.5),
        next_observation={"speed": np.float32(4)},
    )


def test_a_batch_keeps_its_fields_and_nests():
    batch = tree.map_structure(lambda *leaves: np.stack(leaves), *[_transition()] * 3)
    assert batch.next_observation["speed"].tolist() == [4, 4, 4]


def test_a_compiled_function_sees_the_fields():
    target = tf.function(lambda t: t.reward + t.discount * t.next_observation["speed"])
    assert target(tree.map_structure(tf.convert_to_tensor, _transition())) == 5.0


@pytest.mark.parametrize("source", [batches.ReplayBatches, fake_replay.ListBatches])
@pytest.mark.parametrize("method", ["next_batch", "close"])
def test_sources_have_the_interface_that_learners_call(source, method):
    expected = inspect.signature(getattr(transitions.BatchSource, method))
    assert inspect.signature(getattr(source, method)) == expected
