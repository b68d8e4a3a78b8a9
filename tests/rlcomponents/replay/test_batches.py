"""Tests of rlcomponents.replay.batches, on real servers in this process."""

import os
import signal
import threading

import dm_env
import numpy as np
import portpicker
import pytest
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents.replay import adders, batches

SCALAR = dm_env_specs.Array((), np.float32)
VECTOR = dm_env_specs.Array((2,), np.float32)
LONG_SECS = 30.0  # Never waited for: the event comes first, or the test fails.
NOWHERE = "localhost:1"
PIXELS = np.array([[0, 100], [50, 150]], np.uint8)


@pytest.fixture
def draw_from(resources):
    def draw(addresses, spec, **settings):
        source = batches.ReplayBatches(addresses, spec, **{"batch_size": 4} | settings)
        resources.callback(source.close)
        return source

    return draw


def _stack(frames):
    """Frames whose four pixels differ; the first is the frame's number."""
    return np.stack([PIXELS + np.uint8(frame) for frame in frames], axis=-1)


def _fill(replay, spec, observations, num_steps=1):
    """Plays one truncated episode with reward = number of the step."""
    adder = adders.TransitionAdder(
        replay.address, spec, num_steps=num_steps, discount=0.5
    )
    adder.add_first(dm_env.restart(observations[0]))
    for step, observation in enumerate(observations[1:]):
        make = dm_env.truncation if step == len(observations) - 2 else dm_env.transition
        adder.add(np.int32(step % 4), make(float(step), observation))
    adder.flush()
    adder.close()


def test_frames_are_stacked_again(make_spec, make_replay, draw_from):
    spec = make_spec()
    replay = make_replay(spec)
    frames = [0, 0, 0, *range(1, 11)]
    _fill(replay, spec, [_stack(frames[step : step + 3]) for step in range(11)], 2)
    batch = draw_from([replay.address], spec, batch_size=64).next_batch(LONG_SECS)
    assert batch.observation.shape == (64, 2, 2, 3)
    assert batch.observation.dtype == tf.uint8
    assert batch.action.dtype == tf.int32
    assert batch.reward.dtype == batch.discount.dtype == tf.float32
    for observation, action, reward, discount, next_observation in zip(
        *(leaf.numpy() for leaf in batch), strict=True
    ):
        step = int(observation[0, 0, -1])  # The frame of step t is number t.
        after = min(step + 2, 10)
        np.testing.assert_array_equal(observation, _stack(frames[step : step + 3]))
        np.testing.assert_array_equal(
            next_observation, _stack(frames[after : after + 3])
        )
        assert action == step % 4
        assert reward == (step + 0.5 * (step + 1) if step < 9 else step)
        assert discount == (0.25 if step < 9 else 0.5)


def test_nested_observations_come_back_in_their_structure(
    make_spec, make_replay, draw_from
):
    spec = make_spec({"camera": make_spec().observations, "speed": VECTOR})
    replay = make_replay(spec)
    observation = {"camera": _stack([1, 2, 3]), "speed": np.float32([4, 5])}
    _fill(replay, spec, [observation, observation])
    batch = draw_from([replay.address], spec).next_batch(LONG_SECS)
    for nested in (batch.observation, batch.next_observation):
        assert nested["speed"][0].numpy().tolist() == [4, 5]
        assert nested["camera"].shape == (4, 2, 2, 3)
    assert batch.observation["camera"][0, 0, 0].numpy().tolist() == [1, 2, 3]
    assert batch.next_observation["camera"][0, 0, 0].numpy().tolist() == [2, 3, 3]


def test_there_is_no_batch_below_the_minimum(make_spec, make_replay, draw_from):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, min_items=10)
    source = draw_from([replay.address], spec)
    _fill(replay, spec, np.arange(10, dtype=np.float32))  # 9 items.
    assert source.next_batch(0.3) is None
    assert source.num_items in (0, 9)
    _fill(replay, spec, np.arange(2, dtype=np.float32))
    assert source.next_batch(LONG_SECS) is not None
    assert source.num_items == 10


def test_shards_are_drawn_from_in_turn(make_spec, make_replay, draw_from):
    spec = make_spec(SCALAR)
    replays = [make_replay(spec) for _ in range(3)]
    for index, replay in enumerate(replays):
        _fill(replay, spec, np.full(5, index, np.float32))
    source = draw_from([replay.address for replay in replays], spec)
    shards = []
    for _ in range(9):
        with source._changed:  # A shard that has nothing ready would be passed over.
            assert source._changed.wait_for(
                lambda: all(reader.has_news for reader in source._readers), LONG_SECS
            )
        [shard] = set(source.next_batch(LONG_SECS).observation.numpy().tolist())
        shards.append(shard)
    assert shards == [0, 1, 2] * 3
    assert source.num_items == 12


def test_all_items_are_drawn_equally_often(make_spec, make_replay, draw_from):
    spec = make_spec(SCALAR)
    replay = make_replay(spec)
    _fill(replay, spec, np.arange(11, dtype=np.float32))
    source = draw_from([replay.address], spec, batch_size=100)
    drawn = np.concatenate(
        [source.next_batch(LONG_SECS).observation.numpy() for _ in range(50)]
    )
    _, counts = np.unique(drawn, return_counts=True)
    # Binomial, 5,000 draws of 10 items: 500 each, deviation 21.
    assert counts.shape == (10,)
    np.testing.assert_allclose(counts, 500, atol=5 * 21)


def test_a_dead_or_empty_shard_does_not_hold_up_the_others(
    make_spec, make_replay, draw_from
):
    spec = make_spec(SCALAR)
    empty, full = make_replay(spec), make_replay(spec)
    _fill(full, spec, np.full(5, 7, np.float32))
    source = draw_from([NOWHERE, empty.address, full.address], spec)
    for _ in range(10):
        batch = source.next_batch(LONG_SECS)
        assert set(batch.observation.numpy().tolist()) == {7.0}


def test_a_shard_joins_in_once_it_is_filled(make_spec, make_replay, draw_from):
    spec = make_spec(SCALAR)
    late, full = make_replay(spec, min_items=4), make_replay(spec)
    _fill(full, spec, np.full(5, 7, np.float32))
    source = draw_from([late.address, full.address], spec)
    assert source.next_batch(LONG_SECS) is not None
    _fill(late, spec, np.full(5, 8, np.float32))
    seen = set()
    while 8.0 not in seen:  # The time limit of the test ends a failure.
        seen |= set(source.next_batch(LONG_SECS).observation.numpy().tolist())
    assert seen == {7.0, 8.0}


def test_closing_ends_the_wait_for_an_empty_table(make_spec, make_replay):
    spec = make_spec(SCALAR)
    source = batches.ReplayBatches(
        [make_replay(spec).address, NOWHERE], spec, batch_size=4
    )
    assert source.next_batch(0.0) is None
    source.close()
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("replay-")
    ]
    with pytest.raises(RuntimeError, match="closed"):
        source.next_batch(LONG_SECS)


def test_closing_ends_a_wait_for_the_rate_limiter(make_spec, make_replay):
    spec = make_spec(SCALAR)
    replay = make_replay(
        spec, min_items=2, samples_per_insert=1.0, max_ahead_samples=4.0, batch_size=4
    )
    _fill(replay, spec, np.arange(5, dtype=np.float32))
    source = batches.ReplayBatches([replay.address], spec, batch_size=4)
    drawn = 0
    while source.next_batch(0.5) is not None:
        drawn += 4
    assert drawn <= 4 + 4  # One for each item, and 4 ahead.
    source.close()


def test_a_table_of_another_environment_is_an_error_not_a_wait(
    make_spec, make_replay, draw_from
):
    replay = make_replay(make_spec(VECTOR))
    _fill(replay, make_spec(VECTOR), np.zeros((5, 2), np.float32))
    source = draw_from([replay.address], make_spec(SCALAR))
    with pytest.raises(RuntimeError, match=r"cannot be read: .*incompatible"):
        source.next_batch(LONG_SECS)


def test_an_unknown_table_is_an_error_not_a_wait(make_spec, make_replay, draw_from):
    spec = make_spec(SCALAR)
    source = draw_from([make_replay(spec).address], spec, table="sequences")
    with pytest.raises(RuntimeError, match="no table 'sequences'"):
        source.next_batch(LONG_SECS)


@pytest.mark.parametrize(
    ("addresses", "batch_size", "message"),
    [([], 4, "No replay server"), ([NOWHERE], 0, "batch_size is 0")],
)
def test_bad_settings_are_refused(make_spec, addresses, batch_size, message):
    with pytest.raises(ValueError, match=message):
        batches.ReplayBatches(addresses, make_spec(), batch_size=batch_size)


@pytest.mark.integration
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_shard_that_ends_is_passed_over_and_joins_in_when_it_is_back(
    make_spec, make_replay, draw_from, serve_elsewhere, end
):
    spec = make_spec(SCALAR)
    here = make_replay(spec)
    _fill(here, spec, np.full(5, 1, np.float32))
    port = portpicker.pick_unused_port()
    elsewhere = serve_elsewhere(port, value=2.0, num_items=5)
    source = draw_from([here.address, f"localhost:{port}"], spec)

    def draw_until(value):
        seen = set()
        while value not in seen:  # The time limit of the test ends a failure.
            seen = set(source.next_batch(LONG_SECS).observation.numpy().tolist())

    draw_until(2.0)
    getattr(elsewhere, end)()
    elsewhere.wait()
    for _ in range(10):
        assert source.next_batch(LONG_SECS) is not None
    serve_elsewhere(port, value=3.0, num_items=5)
    draw_until(3.0)
    draw_until(1.0)


@pytest.mark.integration
def test_a_hung_shard_holds_up_neither_the_others_nor_closing(
    make_spec, make_replay, draw_from, serve_elsewhere
):
    spec = make_spec(SCALAR)
    here = make_replay(spec)
    _fill(here, spec, np.full(5, 1, np.float32))
    port = portpicker.pick_unused_port()
    elsewhere = serve_elsewhere(port, value=2.0, num_items=5)
    source = draw_from([here.address, f"localhost:{port}"], spec)
    while source.next_batch(LONG_SECS).observation.numpy()[0] != 2.0:
        pass
    os.kill(elsewhere.pid, signal.SIGSTOP)
    drawn = [source.next_batch(LONG_SECS).observation.numpy()[0] for _ in range(50)]
    assert drawn.count(2.0) <= 3  # Those that were ready or on their way.
    os.kill(elsewhere.pid, signal.SIGCONT)
    while source.next_batch(LONG_SECS).observation.numpy()[0] != 2.0:
        pass


def test_whoever_waits_says_what_each_shard_lacks(
    make_spec, make_replay, draw_from, said
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, min_items=10)
    _fill(replay, spec, np.arange(8, dtype=np.float32))  # 7 items.
    source = draw_from([replay.address, NOWHERE], spec, names=["mine", "replay/1"])
    seen = set()

    def look():
        while source.next_batch(0.1) is None:
            pass

    learner = threading.Thread(target=look)
    learner.start()
    while "mine: 7 of 10 items; replay/1: no answer" not in seen:
        seen.add(said.waiting_for)  # The time limit of the test ends a failure.
    _fill(replay, spec, np.arange(5, dtype=np.float32))
    learner.join(LONG_SECS)
    assert said.waiting_for is None
