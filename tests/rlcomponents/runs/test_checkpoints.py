"""Tests of checkpoints, above all of crashes while one is saved."""

import errno
import json
import os
import pathlib
import shutil
import zlib

import numpy as np
import pytest

from rlcomponents import array_files
from rlcomponents.runs import checkpoints


def save(directory, agent_steps, **kwargs):
    """Saves a checkpoint whose contents tell its step."""
    return checkpoints.save(
        directory,
        agent_steps=agent_steps,
        parts={"shard_0": {"vector": np.full(3, agent_steps, np.float32)}},
        facts={"agent_steps": agent_steps},
        **kwargs,
    )


def assert_holds(path, agent_steps):
    """Checks that a checkpoint is whole."""
    parts, facts = checkpoints.load(path)
    assert facts == {"agent_steps": agent_steps}
    np.testing.assert_array_equal(parts["shard_0"]["vector"], [agent_steps] * 3)


def test_arrays_and_facts_come_back_as_they_were(tmp_path):
    parts = {
        "shard_0": {
            "vector": np.array([1.5, -2], np.float32),
            "layer/w:0": np.arange(6, dtype=np.int64).reshape(2, 3),
            "file": np.array(7),  # `np.savez` cannot take an array of this name.
        },
        "names": {"games": np.array(["pong", "qbert"])},
        "empty": {},
    }
    facts = {"updates": 2**60, "epsilon": 0.1, "ended": False, "note": None}
    path = checkpoints.save(tmp_path / "c", agent_steps=12345, parts=parts, facts=facts)
    assert path == tmp_path / "c" / "step_000000012345"
    assert sorted(os.listdir(path)) == [
        "empty.npz",
        "manifest.json",
        "names.npz",
        "shard_0.npz",
    ]
    loaded_parts, loaded_facts = checkpoints.load(path)
    assert loaded_facts == facts
    assert {name: set(arrays) for name, arrays in loaded_parts.items()} == {
        "shard_0": {"vector", "layer/w:0", "file"},
        "names": {"games"},
        "empty": set(),
    }
    for name, arrays in parts.items():
        for key, array in arrays.items():
            np.testing.assert_array_equal(loaded_parts[name][key], array, strict=True)


def test_the_newest_is_the_one_with_most_steps(tmp_path):
    assert checkpoints.latest(tmp_path / "none") is None
    assert checkpoints.latest(tmp_path) is None
    save(tmp_path, 9, num_kept=3)
    newest = save(tmp_path, 10_000_000_000_000, num_kept=3)  # More digits than usual.
    save(tmp_path, 10, num_kept=3)
    assert checkpoints.latest(tmp_path) == newest


def test_only_the_newest_are_kept(tmp_path):
    for agent_steps in (1, 2, 3, 4):
        save(tmp_path, agent_steps, num_kept=2)
    assert sorted(os.listdir(tmp_path)) == ["step_000000000003", "step_000000000004"]


@pytest.mark.parametrize("num_kept", [4, 5, 10])
def test_none_is_removed_before_there_are_more_than_are_kept(tmp_path, num_kept):
    for agent_steps in range(1, num_kept + 1):
        save(tmp_path, agent_steps, num_kept=num_kept)
        assert len(os.listdir(tmp_path)) == agent_steps
    save(tmp_path, num_kept + 1, num_kept=num_kept)
    assert len(os.listdir(tmp_path)) == num_kept
    assert not (tmp_path / "step_000000000001").exists()


def test_a_second_checkpoint_of_one_step_does_not_touch_the_first(tmp_path):
    first = save(tmp_path, 5)
    second = save(tmp_path, 5)
    assert second.name == "step_000000000005-2"
    assert checkpoints.latest(tmp_path) == second
    assert_holds(first, 5)


@pytest.mark.parametrize("failing_call", range(9))
def test_a_crash_at_any_moment_leaves_a_good_checkpoint(
    tmp_path, monkeypatch, failing_call
):
    # A save syncs or renames seven times: part, manifest (3), folder (3). Then it hides
    # the oldest (rename) and deletes it (rmtree).
    save(tmp_path, 1, num_kept=1)
    calls = []

    def crash_in_turn(function):
        def wrapped(*args):
            calls.append(function)
            if len(calls) == failing_call + 1:
                raise KeyboardInterrupt
            return function(*args)

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", crash_in_turn(os.fsync))
        patch.setattr(os, "rename", crash_in_turn(os.rename))
        patch.setattr(shutil, "rmtree", crash_in_turn(shutil.rmtree))
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 2, num_kept=1)

    published = failing_call >= 6
    path = checkpoints.latest(tmp_path)
    assert_holds(path, 2 if published else 1)
    save(tmp_path, 3, num_kept=1)
    assert os.listdir(tmp_path) == ["step_000000000003"]


def tear_manifest(path):
    (path / "manifest.json").write_text('{"format": ')


def remove_manifest(path):
    (path / "manifest.json").unlink()


def foreign_manifest(path):
    (path / "manifest.json").write_text(json.dumps({"format": 3}))


def tear_part(path):
    os.truncate(path / "shard_0.npz", 100)


def remove_part(path):
    (path / "shard_0.npz").unlink()


@pytest.mark.parametrize(
    "spoil",
    [tear_manifest, remove_manifest, foreign_manifest, tear_part, remove_part],
)
def test_a_torn_or_foreign_checkpoint_is_skipped_with_a_word(tmp_path, capsys, spoil):
    good = save(tmp_path, 1)
    bad = save(tmp_path, 2)
    spoil(bad)
    assert checkpoints.latest(tmp_path) == good
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"Skipping the checkpoint {bad}: its ") or (
        line.startswith(f"Skipping the checkpoint {bad}: shard_0.npz has ")
    )
    with pytest.raises(ValueError, match="cannot be read"):
        checkpoints.load(bad)


def test_a_torn_checkpoint_takes_no_place_of_an_intact_one(tmp_path):
    older = save(tmp_path, 4)
    tear_part(save(tmp_path, 8))
    resumed = save(tmp_path, 6, num_kept=2)
    assert checkpoints.latest(tmp_path) == resumed
    assert_holds(older, 4)


def test_what_was_just_saved_is_kept_beside_one_with_more_steps(tmp_path):
    save(tmp_path, 8)
    assert_holds(save(tmp_path, 6, num_kept=1), 6)


def test_a_changed_byte_is_noticed(tmp_path):
    path = save(tmp_path, 1)
    file = path / "shard_0.npz"
    payload = bytearray(file.read_bytes())
    value = np.float32(1).tobytes() * 3
    payload[payload.index(value)] ^= 1
    file.write_bytes(payload)
    assert checkpoints.latest(tmp_path) == path  # Of the same size.
    assert checkpoints.latest(tmp_path, thorough=True) is None
    with pytest.raises(ValueError, match=r"shard_0\.npz is damaged"):
        checkpoints.load(path)


def test_objects_that_need_pickle_are_not_saved(tmp_path):
    parts = {"p": {"a": np.array([{}], object)}}
    with pytest.raises(ValueError, match="allow_pickle=False"):
        checkpoints.save(tmp_path, agent_steps=1, parts=parts, facts={})
    assert checkpoints.latest(tmp_path) is None


def test_pickled_arrays_are_not_loaded(tmp_path):
    path = save(tmp_path, 1)
    file = path / "shard_0.npz"
    np.savez(file, vector=np.array([{}], object))
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["parts"]["shard_0.npz"] |= {
        "bytes": file.stat().st_size,
        "crc32": zlib.crc32(file.read_bytes()),
    }
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        checkpoints.load(path)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_kept": 0}, "num_kept must be at least 1"),
        ({"parts": {"a/b": {}}}, "'a/b'"),
        ({"documents": {"manifest.json": b""}}, "'manifest.json'"),
        ({"files": [pathlib.Path("a b.npz")]}, "'a b.npz'"),
        ({"facts": {"loss": float("nan")}}, "JSON"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, kwargs, message):
    arguments = {"agent_steps": 1, "parts": {}, "facts": {}} | kwargs
    with pytest.raises(ValueError, match=message):
        checkpoints.save(tmp_path, **arguments)
    assert checkpoints.latest(tmp_path) is None


def test_documents_come_back_as_they_were(tmp_path):
    path = save(tmp_path, 1, documents={"worker-0.json": b'{"life": 0}\n'})
    assert checkpoints.load_documents(path) == {"worker-0.json": b'{"life": 0}\n'}
    assert_holds(path, 1)
    (path / "worker-0.json").write_bytes(b'{"life": 1}\n')
    with pytest.raises(ValueError, match=r"worker-0\.json is damaged"):
        checkpoints.load_documents(path)


def test_files_of_arrays_are_copied_and_guarded_like_the_rest(tmp_path):
    file = tmp_path / "worker-0.npz"
    array_files.write(file, {"slots/momentum": np.ones(2, np.float32)})
    path = save(tmp_path, 1, files=[file])
    parts, _ = checkpoints.load(path)
    assert parts["worker-0"]["slots/momentum"].tolist() == [1.0, 1.0]
    payload = bytearray(file.read_bytes())
    payload[len(payload) // 2] ^= 1
    (path / file.name).write_bytes(payload)
    with pytest.raises(ValueError, match=r"worker-0\.npz is damaged"):
        checkpoints.load(path)


def test_the_manifest_says_what_each_part_is_as_of(tmp_path):
    path = save(
        tmp_path,
        50,
        documents={"worker-0.json": b"7"},
        versions={"shard_0": {"updates": np.int64(40)}, "worker-0.json": {"life": 1}},
    )
    parts = checkpoints.read_manifest(path)["parts"]
    assert {name: part["version"] for name, part in parts.items()} == {
        "shard_0.npz": {"updates": 40},
        "worker-0.json": {"life": 1},
    }
    assert parts["worker-0.json"]["bytes"] == 1
    assert parts["worker-0.json"]["crc32"] == zlib.crc32(b"7")


@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_a_full_disk_leaves_the_last_one_and_takes_no_room(
    tmp_path, monkeypatch, function
):
    good = save(tmp_path, 1)

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(OSError, match="No space left"):
            save(tmp_path, 2)
    assert os.listdir(tmp_path) == [good.name]
    assert_holds(save(tmp_path, 3), 3)


def test_newer_ones_are_set_aside_for_a_run_that_goes_on_from_before(tmp_path):
    good, damaged = save(tmp_path, 1), save(tmp_path, 2)
    for _ in range(2):  # A resume that is repeated finds them so.
        checkpoints.set_aside_newer(tmp_path, good)
        assert sorted(os.listdir(tmp_path)) == [f"damaged-{damaged.name}", good.name]
    assert checkpoints.latest(tmp_path) == good
