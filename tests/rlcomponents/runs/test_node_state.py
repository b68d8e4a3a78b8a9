"""Tests of what a node goes on from."""

import errno
import os

import numpy as np
import pytest

from rlcomponents import pulse
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
    state.keep("counter", counter)
    state.save()

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        counter.count = 2
        state.save()
        state.save()
    assert node_state.read(path)["parts"]["counter"] == {"count": 1}
    assert os.listdir(path.parent) == [path.name]
    state.save()
    assert node_state.read(path)["parts"]["counter"] == {"count": 2}
    assert [str(path) in line for line in said] == [True, True]
