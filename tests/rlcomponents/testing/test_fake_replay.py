"""Tests of rlcomponents.testing.fake_replay."""

import dm_env
import numpy as np

from rlcomponents.testing import fake_replay


def _play(adder, num_steps):
    observation = np.zeros(2, np.float32)
    adder.add_first(dm_env.restart(observation))
    for step in range(num_steps):
        observation[:] = step + 1  # The same array each step.
        make = dm_env.termination if step == num_steps - 1 else dm_env.transition
        adder.add(np.int32(step), make(1.0, observation))


def test_transitions_are_recorded_with_their_tail():
    adder = fake_replay.RecordingAdder(discount=0.5, num_steps=2)
    _play(adder, 3)
    assert [
        (t.observation[0], t.action, t.reward, t.discount, t.next_observation[0])
        for t in adder.transitions
    ] == [(0, 0, 1.5, 0.25, 2), (1, 1, 1.5, 0.0, 3), (2, 2, 1.0, 0.0, 3)]


def test_batches_grow_out_of_the_list():
    adder = fake_replay.RecordingAdder(discount=0.5)
    source = fake_replay.ListBatches(adder.transitions, batch_size=4, min_items=3)
    assert source.next_batch(0.0) is None
    _play(adder, 3)
    batch = source.next_batch(0.0)
    assert batch.observation.shape == (4, 2)
    np.testing.assert_array_equal(
        batch.next_observation[:, 0], batch.observation[:, 0] + 1
    )
    source.close()
