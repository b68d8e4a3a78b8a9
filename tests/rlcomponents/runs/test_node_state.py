"""Tests of what a node goes on from."""

import errno
import math
import os

import numpy as np
import pytest

from rlcomponents import array_files, pulse
from rlcomponents.runs import disk, node_state
from rlcomponents.testing import fakes


class Counter:
    """Counts, and saves it."""

    def __init__(self, count=0):
        self.count = count

    def save(self):
        return {"count": self.count}

    def restore(self, state):
        self.count = state["count"]


class Vector:
    """A part that is an array of two numbers."""

    def __init__(self, *numbers):
        self.array = np.array(numbers, np.float32)

    def save(self):
        return {"array": self.array}

    def restore(self, state):
        if "array" not in state:
            raise ValueError("no array")
        self.array = state["array"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "worker-0.json"


def open_state(path, **settings):
    return node_state.NodeState(path, **{"period_secs": 10.0, **settings})


def test_a_part_goes_on_from_what_was_saved_of_it(path):
    state = open_state(path)
    counter = Counter()
    state.keep("counter", counter)
    counter.count = 7
    state.save()
    later = Counter()
    open_state(path).keep("counter", later)
    assert later.count == 7


def test_a_part_may_hold_an_infinity(path):
    state = open_state(path)
    state.keep("best", Counter(-math.inf))
    state.save()
    later = Counter()
    open_state(path).keep("best", later)
    assert later.count == -math.inf


def test_a_part_that_was_not_saved_starts_afresh(path):
    state = open_state(path)
    state.keep("other", Counter(7))
    state.save()
    counter = Counter(1)
    open_state(path).keep("counter", counter)
    assert counter.count == 1


def test_lives_are_counted_also_of_nodes_that_never_saved(path):
    assert [open_state(path).life for _ in range(3)] == [0, 1, 2]


def test_what_a_life_saved_outlives_one_that_saved_nothing(path):
    state = open_state(path)
    state.keep("counter", Counter(7))
    state.save_if_due(50)
    state.save()
    open_state(path)  # Dies at once.
    counter = Counter()
    state = open_state(path)
    state.keep("counter", counter)
    assert (counter.count, state.agent_steps) == (7, 50)


def test_restarts_count_as_lives_where_the_disk_took_nothing(path):
    before = pulse.current()
    pulse.use_in_this_process(pulse.Pulse(starts=3))
    try:
        assert open_state(path).life == 3
    finally:
        pulse.use_in_this_process(before)


def test_is_saved_once_a_period(path):
    clock = fakes.ManualClock(100.0)
    state = open_state(path, clock=clock)
    counter = Counter()
    state.keep("counter", counter)
    saved = []
    for _ in range(5):
        clock.secs += 4.0
        counter.count += 1
        state.save_if_due(counter.count * 100)
        saved.append(node_state.read(path)["agent_steps"])
    assert saved == [0, 0, 300, 300, 300]


def test_a_generator_goes_on_where_a_life_came_to_its_end(path):
    rng = np.random.default_rng(1)
    state = open_state(path)
    state.keep_generator("exploration", rng)
    rng.random(5)
    state.save(ended=True)
    later = np.random.default_rng(2)
    open_state(path).keep_generator("exploration", later)
    np.testing.assert_array_equal(later.random(5), rng.random(5))


def test_a_generator_repeats_nothing_where_a_life_was_cut_short(path):
    rng = np.random.default_rng(1)
    state = open_state(path)
    state.keep_generator("exploration", rng)
    state.save()
    lost = rng.random(5)  # Drawn after the save, before the death.
    later = np.random.default_rng(2)
    open_state(path).keep_generator("exploration", later)
    assert not np.isin(later.random(5), lost).any()


def test_an_end_is_gone_on_from_once(path):
    state = open_state(path)
    state.keep_generator("exploration", np.random.default_rng(1))
    state.save(ended=True)
    for seed in (2, 3):
        later = np.random.default_rng(seed)
        open_state(path).keep_generator("exploration", later)
    assert later.random() == np.random.default_rng(3).random()


def test_arrays_go_on_from_the_last_save_in_a_file_of_their_own(path):
    state = open_state(path)
    state.keep_arrays(Vector(1.0, 2.0))
    state.save()
    later = Vector(0.0, 0.0)
    open_state(path).keep_arrays(later)  # The life before was cut short.
    assert later.array.tolist() == [1.0, 2.0]
    assert sorted(os.listdir(path.parent)) == ["worker-0.json", "worker-0.npz"]


@pytest.mark.parametrize("write", ["damaged", "other"])
def test_arrays_that_cannot_be_gone_on_from_are_named_and_begin_anew(
    path, write, monkeypatch
):
    said = []
    monkeypatch.setattr(pulse, "current", lambda: pulse.Pulse(say=said.append))
    state = open_state(path)
    arrays_path = node_state.arrays_path(path)
    if write == "damaged":
        arrays_path.write_bytes(b"PK")
    else:
        array_files.replace(arrays_path, {"other": np.ones(2)})
    vector = Vector(3.0)
    state.keep_arrays(vector)
    assert vector.array.tolist() == [3.0]
    [line] = said
    assert line.startswith(f"{arrays_path} is skipped, and what it held begins anew: ")


@pytest.mark.parametrize("contents", ["{", "[]", '{"life": 1}'])
def test_a_file_that_is_none_is_named_and_the_node_starts_afresh(
    path, contents, capsys
):
    path.parent.mkdir()
    path.write_text(contents)
    assert open_state(path).life == 0
    assert f"{path} is no state of a node" in capsys.readouterr().out


def test_a_full_disk_is_survived_and_the_last_state_stays(path, monkeypatch):
    said = []
    state = open_state(path, disk=disk.Disk(said.append))
    counter = Counter(1)
    vector = Vector(1.0)
    state.keep("counter", counter)
    state.keep_arrays(vector)
    state.save()

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        for name in ("rename", "replace"):
            patch.setattr(os, name, fail)
        counter.count, vector.array = 2, np.array([2.0])
        state.save()
        state.save()
    assert node_state.read(path)["parts"]["counter"] == {"count": 1}
    arrays_path = node_state.arrays_path(path)
    assert array_files.read(arrays_path)["array"].tolist() == [1.0]
    assert sorted(os.listdir(path.parent)) == [path.name, arrays_path.name]
    state.save()
    assert node_state.read(path)["parts"]["counter"] == {"count": 2}
    assert array_files.read(arrays_path)["array"].tolist() == [2.0]
    assert [str(arrays_path) in line for line in said] == [True, True]
