"""Tests of rlcomponents.replay.servers."""

import contextlib
import errno
import os
import resource
import socket
import tempfile

import dm_env
import numpy as np
import pytest
import reverb
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import pulse
from rlcomponents.replay import adders, batches, restoring, saves, servers, tables
from rlcomponents.replay import limits as replay_limits

SCALAR = dm_env_specs.Array((), np.float32)
LONG_SECS = 30.0  # Never waited for: the event comes first, or the test fails.


def test_a_server_tells_what_it_holds(make_spec, make_replay, monkeypatch):
    life = pulse.Pulse()
    monkeypatch.setattr(pulse, "current", lambda: life)
    spec = make_spec(SCALAR)
    replay = make_replay(spec, max_items=50, min_items=3)
    adder = adders.TransitionAdder(replay.address, spec, num_steps=1, discount=0.9)
    adder.add_first(dm_env.restart(np.float32(0)))
    for _ in range(4):
        adder.add(0, dm_env.transition(0.0, np.float32(0)))
    adder.flush()
    adder.close()
    assert servers.info(replay.address) == (4, 3)
    assert replay.num_items == 4
    assert life.numbers == {
        "replay_items": 4,
        "replay_capacity_items": 50,
        "inserted_items": 4,
        "sampled_items": 0,
    }


def test_a_server_that_does_not_answer_is_named():
    with pytest.raises(TimeoutError, match=r"localhost:1 did not answer within 0\.1 s"):
        servers.info("localhost:1", timeout_secs=0.1)


def test_an_unknown_table_is_refused(make_spec, make_replay):
    replay = make_replay(make_spec())
    with pytest.raises(ValueError, match="no table 'sequences'; it has transitions"):
        servers.info(replay.address, table="sequences")


def test_a_server_leaves_nothing_in_the_temporary_folder(
    make_spec, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = replay_limits.ReplayLimits(max_items=9, min_items=1, batch_size=1)
    replay = servers.LocalReplay(tables.make_tables(make_spec(), limits))
    with pytest.raises(RuntimeError, match="/dev/null is not a directory"):
        reverb.Client(replay.address).checkpoint()
    replay.close()
    assert list(tmp_path.iterdir()) == []


def _fill(replay, spec, num_steps, first=0):
    """Adds one-step items whose observations count up from `first`."""
    adder = adders.TransitionAdder(replay.address, spec, num_steps=1, discount=0.5)
    adder.add_first(dm_env.restart(np.float32(first)))
    for step in range(first + 1, first + 1 + num_steps):
        adder.add(0, dm_env.transition(0.0, np.float32(step)))
    adder.flush()
    adder.close()


def _observations(replay, num_items):
    """The first observations of a server's items, in order."""
    client = reverb.Client(replay.address)
    seen = set()
    while len(seen) < num_items:  # The time limit of the test ends a failure.
        for sample in client.sample(
            tables.TABLE, 100, emit_timesteps=False, unpack_as_table_signature=True
        ):
            seen.add(float(sample.data["observation"][0]))
    return sorted(seen)


def test_n_step_items_of_stacks_come_back_as_they_were(
    make_spec, make_replay, tmp_path, drain
):
    spec = make_spec()
    replay = make_replay(spec, once=True, folder=tmp_path)
    adder = adders.TransitionAdder(replay.address, spec, num_steps=3, discount=0.5)
    stacks = [
        np.full((2, 2, 3), step, np.uint8) + np.arange(3, dtype=np.uint8)
        for step in range(10)
    ]
    adder.add_first(dm_env.restart(stacks[0]))
    for step, stack in enumerate(stacks[1:]):
        adder.add(step % 4, dm_env.transition(float(step), stack))
    adder.flush()
    adder.close()
    replay.save()
    before = drain(replay)
    replay.close()
    again = make_replay(spec, once=True, folder=tmp_path)
    assert again.num_items == 7
    after = drain(again)
    assert len(before) == 7
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old["observation"][0], new["observation"][0])
        np.testing.assert_array_equal(
            old["next_observation"][0], new["next_observation"][0]
        )
        np.testing.assert_array_equal(old["step"], new["step"])


def test_sampling_and_inserting_work_at_once_after_a_restore(
    make_spec, make_replay, tmp_path
):
    spec = make_spec(SCALAR)
    limits = {
        "min_items": 10,
        "samples_per_insert": 2.0,
        "max_ahead_samples": 20.0,
        "batch_size": 8,
    }
    replay = make_replay(spec, folder=tmp_path, **limits)
    _fill(replay, spec, 20)  # As many as it takes: 10 and 20 / 2.
    replay.save()
    replay.close()
    again = make_replay(spec, folder=tmp_path, **limits)
    source = batches.ReplayBatches([again.address], spec, batch_size=8)
    assert source.next_batch(LONG_SECS) is not None
    source.close()
    _fill(again, spec, 5)


def test_only_the_newest_save_stays(make_spec, make_replay, tmp_path):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    for first in (0, 10):
        _fill(replay, spec, 5, first)
        replay.save()
    assert [path.name for path in tmp_path.iterdir()] == ["saved-1"]
    assert saves.saved_items(tmp_path) == 10


def test_limits_of_today_hold_for_what_was_saved(
    make_spec, make_replay, tmp_path, said
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path, max_items=20)
    _fill(replay, spec, 20)
    replay.save()
    replay.close()
    smaller = make_replay(spec, folder=tmp_path, max_items=8, min_items=3)
    assert servers.info(smaller.address) == (8, 3)
    assert _observations(smaller, 8) == list(range(12, 20))  # The newest.
    assert said.lines == [
        f"12 transitions of {tmp_path}/saved-0 found no room in replay: the oldest "
        "ones."
    ]
    _fill(smaller, spec, 1, first=100)
    smaller.save()
    smaller.close()
    larger = make_replay(spec, folder=tmp_path, max_items=30)
    _fill(larger, spec, 4, first=200)
    assert _observations(larger, 12) == [*range(13, 20), 100, *range(200, 204)]


def test_a_save_of_another_environment_is_skipped_with_a_sentence(
    make_spec, make_replay, tmp_path, said
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    _fill(replay, spec, 3)
    replay.save()
    replay.close()
    other = make_replay(make_spec(), folder=tmp_path)
    assert other.num_items == 0
    assert said.lines == [
        f"{tmp_path}/saved-0 is skipped (kept as skipped-0), and replay begins "
        "empty: its items of "
        "'transitions' have other fields or shapes."
    ]


@pytest.mark.parametrize("name", ["items.tfrecord", "chunks.tfrecord"])
def test_a_torn_save_is_skipped_with_a_sentence(
    make_spec, make_replay, tmp_path, said, name
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    _fill(replay, spec, 30)
    replay.save()
    replay.close()
    path = tmp_path / "saved-0" / name
    os.truncate(path, path.stat().st_size // 2)
    again = make_replay(spec, folder=tmp_path)
    assert again.num_items == 0
    assert said.lines == [
        f"{tmp_path}/saved-0 is skipped (kept as skipped-0), and replay begins empty: "
        f"{name} is damaged."
    ]
    _fill(again, spec, 3)
    again.save()
    assert saves.saved_items(tmp_path) == 3
    assert (tmp_path / "skipped-0" / name).exists()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        tf.errors.ResourceExhaustedError(None, None, "a; No space left on device"),
    ],
)
@pytest.mark.parametrize("lasts", [False, True])
def test_a_disk_that_is_full_at_the_start_makes_no_save_a_bad_one(
    make_spec, make_replay, tmp_path, said, monkeypatch, error, lasts
):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    _fill(replay, spec, 3)
    replay.save()
    replay.close()
    prepare, failures = restoring.prepare, [error] * (99 if lasts else 2)

    def prepare_on_a_full_disk(*args):
        if failures:
            raise failures.pop()
        return prepare(*args)

    monkeypatch.setattr(restoring, "prepare", prepare_on_a_full_disk)
    monkeypatch.setattr(saves, "_PAUSES_SECS", (0.0, 0.0))
    if lasts:
        with pytest.raises(OSError, match="No space left on device"):
            make_replay(spec, folder=tmp_path)
    else:
        assert make_replay(spec, folder=tmp_path).num_items == 3
    assert said.lines == []
    assert [path.name for path in tmp_path.iterdir()] == ["saved-0"]


def test_a_port_that_is_taken_makes_no_save_a_bad_one(make_spec, make_replay, tmp_path):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    _fill(replay, spec, 3)
    replay.save()
    replay.close()
    limits = replay_limits.ReplayLimits(max_items=9, min_items=1, batch_size=1)
    with (
        socket.create_server(("", 0)) as other,
        pytest.raises(ValueError, match="gRPC"),
    ):
        servers.LocalReplay(
            tables.make_tables(spec, limits), other.getsockname()[1], folder=tmp_path
        )
    assert [path.name for path in tmp_path.iterdir()] == ["saved-0"]


@contextlib.contextmanager
def _files_of_at_most(num_bytes):
    """A disk that is full after so many bytes of each file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_save_before(make_spec, make_replay, tmp_path):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, folder=tmp_path)
    _fill(replay, spec, 3)
    replay.save()
    _fill(replay, spec, 2000)
    with _files_of_at_most(1000), pytest.raises(OSError, match="File too large") as e:
        replay.save()
    assert e.value.errno == errno.EFBIG
    assert [path.name for path in tmp_path.iterdir()] == ["saved-0"]
    assert saves.saved_items(tmp_path) == 3
    replay.save()
    assert saves.saved_items(tmp_path) == 2003


def test_a_folder_that_cannot_be_written_is_an_os_error(
    make_spec, make_replay, tmp_path
):
    (tmp_path / "file").write_text("")
    replay = make_replay(make_spec(SCALAR), folder=tmp_path / "file" / "replay-0")
    with pytest.raises(OSError, match="not a directory"):
        replay.save()


def test_a_replay_without_a_folder_is_not_saved(make_spec):
    limits = replay_limits.ReplayLimits(max_items=9, min_items=1, batch_size=1)
    replay = servers.LocalReplay(tables.make_tables(make_spec(), limits))
    with pytest.raises(ValueError, match="without a folder"):
        replay.save()
    replay.close()
