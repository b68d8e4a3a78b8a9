"""Tests of saving a whole program."""

import errno
import json
import os

import numpy as np
import pytest

from rlcomponents import array_files
from rlcomponents.nodes import program_checkpoints
from rlcomponents.runs import checkpoints, run_folder


class Shard:
    """One that has come so far."""

    def __init__(self, updates, parameters=(1.0, 2.0)):
        self._state = {"epoch": 3, "updates": updates, "steps": 10 * updates}
        if parameters is not None:
            self._state["parameters"] = np.array(parameters, np.float32)

    def save(self):
        return self._state


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


def save(folder, *shards):
    saving = program_checkpoints.ProgramCheckpoints(
        folder, shards, facts={"agent": "dqn"}, num_kept=2
    )
    saving.save()


def test_each_part_is_said_to_be_as_of_its_own_version(folder):
    (folder.state / "worker-0.json").write_text(
        json.dumps({"life": 1, "agent_steps": 60, "ended": False, "parts": {}})
    )
    save(folder, Shard(7), Shard(8))
    path = checkpoints.latest(folder.checkpoints)
    parts = checkpoints.read_manifest(path)["parts"]
    assert {name: part["version"] for name, part in parts.items()} == {
        "parameters_0.npz": {"epoch": 3, "updates": 7, "steps": 70},
        "parameters_1.npz": {"epoch": 3, "updates": 8, "steps": 80},
        "worker-0.json": {"life": 1, "agent_steps": 60},
    }


def test_the_arrays_of_a_node_are_saved_as_it_wrote_them_and_read_as_parts(folder):
    (folder.state / "worker-0.json").write_text("{}")
    path = folder.state / "worker-0.npz"
    array_files.replace(path, {"slots/momentum": np.arange(3, dtype=np.float32)})
    save(folder, Shard(7))
    checkpoint = checkpoints.latest(folder.checkpoints)
    assert (checkpoint / path.name).read_bytes() == path.read_bytes()
    parts, _ = checkpoints.load(checkpoint)
    assert parts["worker-0"]["slots/momentum"].tolist() == [0.0, 1.0, 2.0]


def test_counts_are_those_of_the_first_shard(folder):
    save(folder, Shard(7), Shard(8))
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert (facts["agent"], facts["agent_steps"], facts["updates"]) == ("dqn", 70, 7)
    assert facts["num_parameter_shards"] == 2


def test_nothing_is_saved_while_a_shard_has_no_parameters(folder):
    save(folder, Shard(7), Shard(0, parameters=None))
    assert checkpoints.latest(folder.checkpoints) is None


def test_what_is_as_it_was_at_the_last_save_is_not_saved_again(folder):
    document = folder.state / "worker-0.json"
    document.write_text('{"ended": false}')
    shards = [Shard(7), Shard(8)]
    saving = program_checkpoints.ProgramCheckpoints(
        folder, shards, facts={}, num_kept=9
    )

    def num_saved():
        saving.save()
        return len(checkpoints.listed(folder.checkpoints))

    assert [num_saved(), num_saved()] == [1, 1]
    shards[1] = Shard(9)  # The first one, which stands for the store, is as it was.
    assert [num_saved(), num_saved()] == [2, 2]
    document.write_text('{"ended": true}')
    assert [num_saved(), num_saved()] == [3, 3]


def test_what_the_disk_did_not_take_is_saved_when_it_takes_it(folder, monkeypatch):
    saving = program_checkpoints.ProgramCheckpoints(
        folder, [Shard(7)], facts={}, num_kept=2
    )

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="No space"):
            saving.save()
    saving.save()
    assert checkpoints.latest(folder.checkpoints) is not None
