"""Tests of rlcomponents.replay.adders, on a real server in this process."""

import collections
import glob
import os
import shutil
import signal
import threading

import dm_env
import numpy as np
import portpicker
import pytest
import reverb
import tensorflow as tf
from dm_env import specs as dm_env_specs
from reverb.cc import schema_pb2

from rlcomponents.replay import adders, servers, tables

SCALAR = dm_env_specs.Array((), np.float32)
VECTOR = dm_env_specs.Array((2,), np.float32)


@pytest.fixture
def make_adder(resources):
    def make(replay, spec, **settings):
        values = {"num_steps": 1, "discount": 0.5} | settings
        adder = adders.TransitionAdder(replay.address, spec, **values)
        resources.callback(adder.close)
        return adder

    return make


def _stack(frames):
    return np.stack([np.full((2, 2), frame, np.uint8) for frame in frames], axis=-1)


def _play(adder, observations, rewards, ending, actions=None):
    """Plays one episode; `ending` is the discount of its last step."""
    adder.add_first(dm_env.restart(observations[0]))
    for step, reward in enumerate(rewards):
        last = step == len(rewards) - 1
        adder.add(
            np.int32(step if actions is None else actions[step]),
            dm_env.TimeStep(
                dm_env.StepType.LAST if last else dm_env.StepType.MID,
                np.float32(reward),
                np.float32(ending if last else 1.0),
                observations[step + 1],
            ),
        )


def _scalars(item):
    """(observation, action, reward, discount, next observation) of scalar stacks."""
    [observation], [next_observation] = item["observation"], item["next_observation"]
    return (float(observation), *item["step"].tolist(), float(next_observation))


def _slow_transitions(episode, num_steps, discount):
    """n-step transitions as the definition has them, one by one."""
    num = len(episode["rewards"])
    for start in range(num):
        stop = min(start + num_steps, num)
        reward, weight = 0.0, 1.0
        for step in range(start, stop):
            reward += weight * episode["rewards"][step]
            terminal = step == num - 1 and episode["ending"] == 0.0
            weight *= 0.0 if terminal else discount
        yield (
            episode["stacks"][start],
            episode["actions"][start],
            reward,
            weight,
            episode["stacks"][stop],
        )


def _random_episode(rng, first_frame):
    """Frames are numbered on, so no two of them are equal within 256."""
    num_steps = int(rng.choice([1, 2, 3, 8]))
    frames = [first_frame] * 3 + [first_frame + 1 + step for step in range(num_steps)]
    return {
        "stacks": [frames[step : step + 3] for step in range(num_steps + 1)],
        "actions": rng.integers(4, size=num_steps).tolist(),
        "rewards": rng.integers(-3, 4, size=num_steps).tolist(),
        "ending": float(rng.integers(2)),
    }


@pytest.mark.parametrize("num_steps", [1, 2, 3, 4, 5])
def test_any_episodes_give_the_transitions_of_the_definition(
    make_spec, make_replay, make_adder, drain, num_steps
):
    rng = np.random.default_rng(num_steps)
    spec = make_spec()
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, num_steps=num_steps, discount=0.5)
    expected, frame = [], 0
    for _ in range(20):
        episode = _random_episode(rng, frame)
        frame = episode["stacks"][-1][-1] + 1
        _play(
            adder,
            [_stack(stack) for stack in episode["stacks"]],
            episode["rewards"],
            episode["ending"],
            episode["actions"],
        )
        expected += _slow_transitions(episode, num_steps, discount=0.5)
    adder.flush()
    items = drain(replay)
    assert frame < 256
    assert [
        (
            item["observation"][0][:, 0, 0].tolist(),
            *item["step"].tolist(),
            item["next_observation"][0][:, 0, 0].tolist(),
        )
        for item in items
    ] == expected
    # Every pixel is there, not only the corner looked at.
    assert all(
        (item["observation"][0] == item["observation"][0][:, :1, :1]).all()
        for item in items
    )


def test_the_real_last_observation_is_stored(make_spec, make_replay, make_adder, drain):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec)
    for _ in range(2):  # Cut after 5 steps, then again from 0.
        _play(adder, np.arange(6, dtype=np.float32), [0] * 5, ending=1.0)
    adder.flush()
    pairs = [(_scalars(item)[0], _scalars(item)[-1]) for item in drain(replay)]
    assert pairs == [(step, step + 1) for step in range(5)] * 2


def test_truncation_is_not_termination(make_spec, make_replay, make_adder, drain):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, discount=0.9)
    for ending in (1.0, 0.0):
        _play(adder, np.zeros(2, np.float32), [1.0], ending)
    adder.flush()
    targets = [
        reward + discount * 10.0
        for _, _, reward, discount, _ in map(_scalars, drain(replay))
    ]
    np.testing.assert_allclose(targets, [10.0, 1.0], rtol=1e-6)


def test_there_is_no_transition_between_episodes(
    make_spec, make_replay, make_adder, drain
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec)
    _play(adder, np.float32([0, 1, 2, 3]), [0] * 3, ending=0.0)
    _play(adder, np.float32([10, 11, 12]), [0] * 2, ending=1.0)
    adder.flush()
    starts = [_scalars(item)[0] for item in drain(replay)]
    assert starts == [0, 1, 2, 10, 11]


def test_a_lost_life_ends_the_transition_and_the_next_life_begins_afresh(
    make_spec, make_replay, make_adder, drain
):
    spec = make_spec()
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, num_steps=3)
    _play(adder, [_stack([1, 1, 1]), _stack([1, 1, 2])], [1.0], ending=0.0)
    _play(adder, [_stack([3, 3, 3]), _stack([3, 3, 4])], [1.0], ending=1.0)
    adder.flush()
    lost, after = drain(replay)
    assert lost["step"].tolist() == [0, 1, 0]
    assert lost["next_observation"][0][:, 0, 0].tolist() == [1, 1, 2]
    assert after["observation"][0][:, 0, 0].tolist() == [3, 3, 3]


def test_the_learner_sees_clipped_rewards(make_spec, make_replay, make_adder, drain):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, max_abs_reward=1.0)
    _play(adder, np.zeros(4, np.float32), [5.0, -3.0, 0.5], ending=0.0)
    adder.flush()
    assert [_scalars(item)[2] for item in drain(replay)] == [1.0, -1.0, 0.5]


@pytest.mark.parametrize("offset", [0, 1])  # Aligned to 64 bytes, and not.
def test_observations_may_be_overwritten_afterwards(
    make_spec, make_replay, make_adder, drain, offset
):
    spec = make_spec(VECTOR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec)
    memory = np.zeros(64, np.float32)
    start = (-memory.ctypes.data % 64) // 4 + offset
    shared = memory[start : start + 2]
    shared[:] = 1
    adder.add_first(dm_env.restart(shared))
    shared[:] = 2
    adder.add(np.int32(0), dm_env.termination(1.0, shared))
    shared[:] = 3
    adder.flush()
    [item] = drain(replay)
    np.testing.assert_array_equal(item["observation"][0], [1, 1])
    np.testing.assert_array_equal(item["next_observation"][0], [2, 2])


def test_mixed_precision_is_stored_as_the_spec_says(
    make_spec, make_replay, make_adder, drain
):
    spec = make_spec(VECTOR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec)
    adder.add_first(dm_env.restart(np.array([0.1, 0.2])))
    adder.add(1, dm_env.transition(np.float64(0.5), np.array([0.3, 0.4])))
    adder.add(2, dm_env.termination(7, np.array([0.5, 0.6])))  # An int reward.
    adder.flush()
    first, second = drain(replay)
    assert first["observation"][0].dtype == np.float32
    assert second["step"].dtype == np.float32
    assert second["step"].tolist() == [2, 7, 0]


def test_nested_observations_are_stored(make_spec, make_replay, make_adder, drain):
    stacks = make_spec().observations
    spec = make_spec({"camera": stacks, "speed": VECTOR})
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, num_steps=2)
    observations = [
        {"camera": _stack([0, 0, 0]), "speed": np.float32([1, 2])},
        {"camera": _stack([0, 0, 1]), "speed": np.float32([3, 4])},
        {"camera": _stack([0, 1, 2]), "speed": np.float32([5, 6])},
    ]
    _play(adder, observations, [1.0, 1.0], ending=1.0)
    adder.flush()
    first, second = drain(replay)
    camera, speed = first["next_observation"]
    assert camera[:, 0, 0].tolist() == [0, 1, 2]
    assert speed.tolist() == [5, 6]
    camera, speed = second["observation"]
    assert camera[:, 0, 0].tolist() == [0, 0, 1]
    assert speed.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        pytest.param({"reward": np.nan}, "reward is nan", id="reward"),
        pytest.param({"discount": np.inf}, "discount is inf", id="discount"),
        pytest.param(
            {"observation": np.float32([0, np.nan])},
            "observation is not finite",
            id="observation",
        ),
    ],
)
def test_nothing_with_a_nan_is_stored(
    make_spec, make_replay, make_adder, drain, broken, field
):
    spec = make_spec(VECTOR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, num_steps=2)
    good = dm_env.transition(np.float32(1), np.zeros(2, np.float32))
    _play(adder, np.zeros((2, 2), np.float32), [0.0], ending=0.0)
    adder.add_first(dm_env.restart(np.zeros(2, np.float32)))
    for _ in range(6):
        adder.add(0, good)
    with pytest.raises(ValueError, match=f"Episode 2, step 7: {field}"):
        adder.add(0, good._replace(**broken))
    adder.flush()
    items = drain(replay)
    assert len(items) == 1 + 5
    assert all(np.isfinite(item["step"]).all() for item in items)


def test_fields_that_the_table_does_not_know_are_refused(
    make_spec, make_replay, make_adder
):
    spec = make_spec(SCALAR)
    adder = make_adder(make_replay(spec), spec)
    adder.add_first(dm_env.restart(np.float32(0)))
    with pytest.raises(
        ValueError,
        match="expected next_observation, observation, step, given as well: "
        "extras/core_state, extras/logits",
    ):
        adder.add(
            0,
            dm_env.transition(0.0, np.float32(1)),
            extras={"logits": np.zeros(4), "core_state": np.zeros(2)},
        )


def test_a_table_of_another_environment_is_refused(make_spec, make_replay, make_adder):
    replay = make_replay(make_spec(VECTOR))
    adder = make_adder(replay, make_spec(SCALAR))
    with pytest.raises(
        ValueError,
        match=r"expected .*observation/0 float32\[2\].*given .*/0 float32\[\]",
    ):
        adder.add_first(dm_env.restart(np.float32(0)))


def test_an_unknown_table_is_refused(make_spec, make_replay, make_adder):
    spec = make_spec(SCALAR)
    adder = make_adder(make_replay(spec), spec, table="sequences")
    with pytest.raises(ValueError, match="no table 'sequences'; it has transitions"):
        adder.add_first(dm_env.restart(np.float32(0)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.add(0, dm_env.transition(0.0, np.float32(0))), "before add_first"),
        (lambda a: a.add_first(dm_env.transition(0.0, np.float32(0))), "FIRST"),
    ],
)
def test_calls_out_of_order_are_refused(
    make_spec, make_replay, make_adder, call, message
):
    spec = make_spec(SCALAR)
    adder = make_adder(make_replay(spec), spec)
    with pytest.raises(ValueError, match=message):
        call(adder)


def test_no_item_starts_in_a_last_observation(make_spec, make_replay, make_adder):
    spec = make_spec(SCALAR)
    adder = make_adder(make_replay(spec), spec)
    _play(adder, np.zeros(2, np.float32), [0.0], ending=1.0)
    with pytest.raises(ValueError, match="before add_first"):
        adder.add(0, dm_env.transition(0.0, np.float32(0)))


def test_an_abandoned_episode_keeps_its_items_and_joins_no_other(
    make_spec, make_replay, make_adder, drain
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, once=True)
    adder = make_adder(replay, spec, num_steps=2)
    adder.add_first(dm_env.restart(np.float32(0)))
    for step in (1, 2, 3):
        adder.add(0, dm_env.transition(0.0, np.float32(step)))
    _play(adder, np.float32([10, 11]), [0.0], ending=0.0)
    adder.flush()
    pairs = [(_scalars(item)[0], _scalars(item)[-1]) for item in drain(replay)]
    assert pairs == [(0, 2), (1, 3), (10, 11)]


def test_unconfirmed_items_are_bounded_and_a_stop_ends_the_wait(
    make_spec, make_replay, make_adder
):
    """Nobody samples, so inserts are soon blocked: the server is slow for ever."""
    spec = make_spec(SCALAR)
    replay = make_replay(spec, samples_per_insert=1.0, max_ahead_samples=4.0)
    waiting, stop = threading.Event(), threading.Event()

    def should_stop():
        waiting.set()
        return stop.is_set()

    adder = make_adder(replay, spec, max_in_flight_items=3, should_stop=should_stop)
    added = []

    def act():
        adder.add_first(dm_env.restart(np.float32(0)))
        while not stop.is_set():
            added.append(adder.add(0, dm_env.transition(0.0, np.float32(0))))

    actor = threading.Thread(target=act, daemon=True)
    actor.start()
    assert waiting.wait(30)
    assert replay.num_items == 5  # The minimum of 1, and 4 ahead.
    assert len(added) == 5 + 3
    stop.set()
    actor.join(30)
    assert not actor.is_alive()


@pytest.mark.parametrize("num_steps", [1, 3])
def test_items_wait_for_no_more_than_the_next_item(
    make_spec, make_replay, make_adder, num_steps
):
    """Without `flush`, all but the newest come; at an episode's end, with the next."""
    spec = make_spec(SCALAR)
    replay = make_replay(spec)
    adder = make_adder(replay, spec, num_steps=num_steps)
    episode = np.arange(6, dtype=np.float32)
    _play(adder, episode, [0.0] * 5, ending=0.0)
    adder.add_first(dm_env.restart(np.float32(0)))
    for step in range(1, 8):
        adder.add(0, dm_env.transition(0.0, np.float32(step)))
        num_created = 5 + max(0, step - num_steps + 1)
        while replay.num_items < num_created - 1:
            pass
        assert replay.num_items <= num_created


def test_without_a_ratio_inserts_are_never_blocked(make_spec, make_replay, make_adder):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, max_items=50, min_items=20)
    adder = make_adder(replay, spec)
    _play(adder, np.zeros(201, np.float32), [0.0] * 200, ending=0.0)
    adder.flush()
    assert replay.num_items == 50


def test_a_server_that_does_not_answer_is_named(make_spec):
    adder = adders.TransitionAdder(
        "localhost:1",
        make_spec(SCALAR),
        num_steps=1,
        discount=0.9,
        connect_timeout_secs=0.0,
    )
    with pytest.raises(TimeoutError, match=r"^The replay server at localhost:1 did"):
        adder.add_first(dm_env.restart(np.float32(0)))


def test_a_stop_ends_the_wait_for_a_server(make_spec):
    adder = adders.TransitionAdder(
        "localhost:1",
        make_spec(SCALAR),
        num_steps=1,
        discount=0.9,
        should_stop=lambda: True,
    )
    adder.add_first(dm_env.restart(np.float32(0)))
    adder.add(0, dm_env.transition(0.0, np.float32(0)))
    adder.flush()


def test_room_for_no_item_is_refused(make_spec):
    with pytest.raises(ValueError, match="max_in_flight_items is 0"):
        adders.TransitionAdder(
            "localhost:1", make_spec(), num_steps=1, discount=0.9, max_in_flight_items=0
        )


def _frames_kept(replay):
    """Counts the frames that the server holds."""
    return sum(_chunks_kept(replay)["uint8"])


def _chunks_kept(replay):
    """Returns the rows of each chunk that the server holds, by their type.

    By what it writes to a checkpoint.
    """
    path = reverb.Client(replay.address).checkpoint()
    rows = collections.defaultdict(list)
    for file in glob.glob(f"{path}/chunks.tfrecord*"):
        for record in tf.data.TFRecordDataset(file, compression_type="ZLIB"):
            [tensor] = schema_pb2.ChunkData.FromString(record.numpy()).data.tensors
            dtype = tf.as_dtype(tensor.dtype).name
            rows[dtype].append(tensor.tensor_shape.dim[0].size)
    shutil.rmtree(path)
    return rows


@pytest.mark.parametrize("num_steps", [1, 3])
def test_a_frame_is_kept_once_however_many_stacks_it_is_in(
    make_spec, make_replay, make_adder, num_steps
):
    """1.3 frames a transition, in episodes of 20 steps; whole stacks would take 4."""
    spec = make_spec()
    replay = make_replay(spec)
    adder = make_adder(replay, spec, num_steps=num_steps)
    num_episodes, num_transitions = 10, 200
    for _ in range(num_episodes):
        frames = [0, 0, 0, *range(1, 21)]
        stacks = [_stack(frames[step : step + 3]) for step in range(21)]
        _play(adder, stacks, [0.0] * 20, ending=0.0)
    adder.flush()
    assert replay.num_items == num_transitions
    # Three for the first stack of an episode, then one a step. A stream that Reverb
    # opens anew, as on a busy machine, sends the pairs of an item again, as others.
    num_frames = num_episodes * (3 + 20)
    assert num_frames <= _frames_kept(replay) <= num_frames + 6
    assert num_frames <= 1.3 * num_transitions


def test_frames_of_items_that_made_room_are_dropped(make_spec, make_replay, make_adder):
    spec = make_spec()
    replay = make_replay(spec, max_items=10)
    adder = make_adder(replay, spec)
    frames = [0, 0, 0, *range(1, 101)]
    stacks = [_stack(frames[step : step + 3]) for step in range(101)]
    _play(adder, stacks, [0.0] * 100, ending=0.0)
    adder.flush()
    assert _frames_kept(replay) == 10 + 3  # 10 steps, and the stack before them.


def test_frames_are_kept_in_pairs(make_spec, make_replay, make_adder):
    """Reverb's own bookkeeping is 1 KB a chunk, more than a compressed screen."""
    spec = make_spec()
    replay = make_replay(spec)
    adder = make_adder(replay, spec)
    stacks = [_stack([max(0, step - 2), max(0, step - 1), step]) for step in range(96)]
    _play(adder, stacks, [0.0] * 95, ending=0.0)
    adder.flush()
    num_frames = 3 + 95
    assert len(_chunks_kept(replay)["uint8"]) <= num_frames // 2 + 3


def test_an_item_is_described_by_the_signature(make_spec):
    signature = tables.signature(make_spec())
    assert signature["observation"][0].shape == (3, 2, 2)
    assert signature["next_observation"][0].dtype == tf.uint8
    assert signature["step"].shape == (3,)


class _Actor:
    """Adds steps in a thread; the observation is the number of the step."""

    def __init__(self, adder):
        self.adder = adder
        self.num_steps = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._act, daemon=True)
        self._thread.start()

    def _act(self):
        self.adder.add_first(dm_env.restart(np.float32(0)))
        while not self._stopped.wait(0.002):
            step = self.num_steps + 1
            self.adder.add(0, dm_env.transition(float(step), np.float32(step)))
            self.num_steps = step

    def stop(self):
        self._stopped.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


def _until(condition):
    while not condition():  # The time limit of the test ends a failure.
        threading.Event().wait(0.05)


def _num_items(address):
    try:
        return servers.info(address).num_items
    except TimeoutError:
        return 0


@pytest.mark.integration
@pytest.mark.parametrize("num_steps", [1, 3])
def test_an_actor_goes_on_when_its_killed_server_is_back(
    make_spec, serve_elsewhere, resources, said, num_steps
):
    port = portpicker.pick_unused_port()
    address = f"localhost:{port}"
    first = serve_elsewhere(port)
    adder = adders.TransitionAdder(
        address,
        make_spec(SCALAR),
        num_steps=num_steps,
        discount=1.0,
        max_in_flight_items=5,
        replay="replay/0",
    )
    actor = _Actor(adder)
    resources.callback(adder.close)
    _until(lambda: _num_items(address) >= 20)
    first.kill()
    first.wait()
    _until(lambda: said.lines)
    assert said.lines == [
        "replay/0 went away (nobody listens at its address); 6 transitions not "
        "confirmed were dropped."
    ]
    assert adder.num_dropped_items == 5 + 1  # Those on their way, and the next.
    _until(lambda: said.waiting_for == "replay/0: no answer")
    serve_elsewhere(port)
    _until(lambda: _num_items(address) >= 20)
    actor.stop()
    adder.flush()
    assert said.waiting_for is None
    assert len(said.lines) == 1
    # Each item is what the definition says, so that none joins what was before the
    # gap with what came after it.
    items = [
        sample.data
        for sample in reverb.Client(address).sample(
            tables.TABLE, 500, emit_timesteps=False, unpack_as_table_signature=True
        )
    ]
    for item in items:
        start, _, reward, _, end = _scalars(item)
        assert end == start + num_steps
        assert reward == sum(range(int(start) + 1, int(end) + 1))


@pytest.mark.integration
def test_a_hung_server_is_waited_for_with_few_items_and_none_is_lost(
    make_spec, serve_elsewhere, resources, said
):
    port = portpicker.pick_unused_port()
    address = f"localhost:{port}"
    server = serve_elsewhere(port)
    adder = adders.TransitionAdder(
        address,
        make_spec(SCALAR),
        num_steps=1,
        discount=1.0,
        max_in_flight_items=5,
        replay="replay/0",
    )
    actor = _Actor(adder)
    resources.callback(adder.close)
    _until(lambda: _num_items(address) >= 20)
    os.kill(server.pid, signal.SIGSTOP)
    _until(lambda: said.waiting_for is not None)
    assert said.waiting_for == "replay/0: 5 items not confirmed"
    held_at = actor.num_steps
    threading.Event().wait(2.5)  # More than one look at the server.
    assert actor.num_steps == held_at
    os.kill(server.pid, signal.SIGCONT)
    _until(lambda: actor.num_steps >= held_at + 20)
    actor.stop()
    adder.flush()
    assert servers.info(address).num_items == actor.num_steps
    assert adder.num_dropped_items == 0
    assert said.lines == []


@pytest.mark.integration
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_stop_ends_the_wait_for_a_server_that_went_away(
    make_spec, serve_elsewhere, said, fault
):
    port = portpicker.pick_unused_port()
    server = serve_elsewhere(port)
    stop = threading.Event()
    adder = adders.TransitionAdder(
        f"localhost:{port}",
        make_spec(SCALAR),
        num_steps=1,
        discount=1.0,
        should_stop=stop.is_set,
    )
    actor = _Actor(adder)
    _until(lambda: actor.num_steps >= 20)
    os.kill(server.pid, fault)
    _until(lambda: said.waiting_for is not None)
    stop.set()
    actor.stop()
    adder.flush()
    adder.close()


def test_a_server_that_shuts_down_under_an_actor_is_one_that_went_away(
    make_spec, make_replay, make_adder, said
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec)
    adder = make_adder(replay, spec, should_stop=lambda: bool(said.lines))
    adder.add_first(dm_env.restart(np.float32(0)))
    adder.add(0, dm_env.transition(0.0, np.float32(0)))
    adder.flush()
    replay.close()
    for _ in range(20):
        adder.add(0, dm_env.transition(0.0, np.float32(0)))
    assert len(said.lines) == 1
    assert adder.num_dropped_items >= 1
