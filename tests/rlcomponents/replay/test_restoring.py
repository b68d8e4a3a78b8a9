"""Tests of rlcomponents.replay.restoring."""

import pathlib

import dm_env
import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents.replay import adders, restoring, saves, servers, tables
from rlcomponents.replay import limits as replay_limits

NUM_ITEMS = 7


def _make_tables(spec, max_items, min_items=1):
    limits = replay_limits.ReplayLimits(
        max_items=max_items, min_items=min_items, batch_size=1
    )
    return tables.make_tables(spec, limits)


@pytest.fixture
def spec(make_spec):
    return make_spec(dm_env_specs.Array((), np.float32))


@pytest.fixture
def checkpoint(spec, tmp_path) -> pathlib.Path:
    """Reverb's checkpoint of a table with seven items."""
    folder = tmp_path / "saved"
    replay = servers.LocalReplay(_make_tables(spec, 100), folder=folder)
    adder = adders.TransitionAdder(replay.address, spec, num_steps=1, discount=0.9)
    adder.add_first(dm_env.restart(np.float32(0)))
    for _ in range(NUM_ITEMS):
        adder.add(0, dm_env.transition(0.0, np.float32(0)))
    adder.flush()
    adder.close()
    replay.save()
    replay.close()
    save = saves.newest(folder)
    assert save is not None
    return save.path


def test_counts_what_a_checkpoint_holds(checkpoint):
    assert restoring.count_items(checkpoint) == NUM_ITEMS


def test_a_table_with_room_takes_every_item(checkpoint, spec, tmp_path):
    target = tmp_path / "target"

    assert restoring.prepare(checkpoint, _make_tables(spec, 50), target) == 0

    assert restoring.count_items(target) == NUM_ITEMS
    # What does not change is referred to, not copied.
    assert (target / "items.tfrecord").is_symlink()


def test_a_smaller_table_leaves_the_oldest_items_out(checkpoint, spec, tmp_path):
    target = tmp_path / "target"

    assert restoring.prepare(checkpoint, _make_tables(spec, 3), target) == 4

    assert restoring.count_items(target) == 3
    assert restoring.count_items(checkpoint) == NUM_ITEMS


def test_items_of_another_environment_are_refused(checkpoint, make_spec, tmp_path):
    other = make_spec(dm_env_specs.Array((5,), np.float32))

    with pytest.raises(ValueError, match="have other fields or shapes"):
        restoring.prepare(checkpoint, _make_tables(other, 9), tmp_path / "target")

    assert not (tmp_path / "target").exists()
