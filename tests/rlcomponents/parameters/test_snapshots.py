"""Shards and stores that go on from a file."""

import errno
import threading

import numpy as np
import pytest

from rlcomponents import array_files, core, pulse, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    local_store,
    shared_memory,
    shared_memory_store,
    snapshots,
    update_rules,
    wire,
)

ONES = np.ones(4, np.float32)
LAYOUT = layouts.ParameterLayout(["w"], [(4,)])
SETTINGS = {
    "rule": update_rules.MomentumSGD(0.5),
    "learning_rate": schedules.Constant(1.0),
    "max_staleness_updates": None,
    "target_period_updates": 2,
}


class Node:
    """What a node finds around it: how often it was started, and a user's screen."""

    def __init__(self, monkeypatch):
        self.lines = []
        self.monkeypatch = monkeypatch
        self.start(0)

    def start(self, starts):
        node = pulse.Pulse(starts=starts, say=self.lines.append)
        self.monkeypatch.setattr(pulse, "current", lambda: node)


@pytest.fixture
def node(monkeypatch):
    return Node(monkeypatch)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "parameters-0.npz"


@pytest.fixture
def written(monkeypatch):
    """A semaphore that each snapshot releases, once it can be read."""
    semaphore, replace = threading.Semaphore(0), array_files.replace

    def replace_and_tell(path, state):
        try:
            replace(path, state)
        finally:
            semaphore.release()

    monkeypatch.setattr(array_files, "replace", replace_and_tell)
    return semaphore


def make_shard(path, *, stopped=False, **settings):
    settings = {"snapshot_period_updates": 6, **SETTINGS, **settings}
    return snapshots.SavedShard(path, wait_for_stop=lambda secs: stopped, **settings)


def push(made, *, epoch=0, updates):
    return wire.read_reply(made.push(ONES.tobytes(), epoch, updates, 2))


def assert_same(state, expected):
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(state[name], value)


def test_a_snapshot_is_taken_as_soon_as_there_are_parameters(path, node, written):
    made = make_shard(path)
    assert not path.exists()
    made.initialise(ONES.tobytes())
    assert written.acquire(timeout=10)
    assert_same(array_files.read(path), made.save())


def test_snapshots_are_taken_twice_in_each_period(path, node, written):
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    found = []
    for updates in range(9):
        if updates % 3 == 0:
            assert written.acquire(timeout=10)
            found.append(int(array_files.read(path)["updates"]))
        push(made, updates=updates)
    assert found == [0, 3, 6]


def test_the_last_snapshot_is_taken_when_the_program_stops(path, node):
    made = make_shard(path, stopped=True)
    made.initialise(ONES.tobytes())
    push(made, updates=0)
    made.add_steps(5)
    made.run()
    assert_same(array_files.read(path), made.save())


def test_pushes_do_not_wait_for_a_slow_disk(path, node, monkeypatch):
    disk, started = threading.Event(), threading.Event()

    def replace(path, state):
        started.set()
        disk.wait(10)

    monkeypatch.setattr(array_files, "replace", replace)
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    assert started.wait(10)
    for updates in range(20):
        push(made, updates=updates)
    disk.set()


def test_a_shard_that_is_started_again_goes_on_in_another_epoch(path, node):
    ended = make_shard(path, stopped=True)
    ended.initialise(ONES.tobytes())
    for updates in range(3):
        push(ended, updates=updates)
    ended.run()
    push(ended, updates=3)  # Not in the snapshot.
    node.start(1)
    made = make_shard(path)
    _, (vector, epoch, updates, steps, *_) = made.pull()
    np.testing.assert_array_equal(
        np.frombuffer(vector, np.float32), array_files.read(path)["parameters"]
    )
    assert (epoch, updates, steps) == (2, 3, 6)
    assert push(made, updates=4) == ("other_epoch", 0)  # Else it would be an error.
    assert push(made, epoch=2, updates=3) == ("applied", 0)
    assert not node.lines


def test_a_shard_without_a_snapshot_is_in_another_epoch_too(path, node):
    node.start(3)
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    assert push(made, updates=500) == ("other_epoch", 0)


@pytest.mark.parametrize("fault", ["torn", "another rule", "no shard"])
def test_a_file_that_is_no_state_ends_the_program_and_stays(path, node, fault):
    ended = make_shard(path, stopped=True)
    ended.initialise(ONES.tobytes())
    ended.run()
    settings = {}
    if fault == "torn":
        path.write_bytes(path.read_bytes()[:-100])
    elif fault == "another rule":
        settings = {"rule": update_rules.Adam()}
    else:
        array_files.replace(path, {"something": ONES})
    before = path.read_bytes()
    node.start(2)
    with pytest.raises(pulse.FatalError, match=r"parameters-0\.npz is no state to go"):
        make_shard(path, **settings)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_read_now_is_tried_again_by_the_next_start(path, node):
    ended = make_shard(path, stopped=True)
    ended.initialise(ONES.tobytes())
    ended.run()

    def read(path):
        raise OSError(errno.EIO, "Input/output error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_files, "read", read)
        with pytest.raises(OSError, match="Input/output error"):
            make_shard(path)
    assert make_shard(path).save()["parameters"].tolist() == [1.0] * 4


def test_a_full_disk_is_said_once_and_training_goes_on(path, node, monkeypatch):
    full, tried, replace = [False], threading.Semaphore(0), array_files.replace

    def write(path, state):
        try:
            if full[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            replace(path, state)
        finally:
            tried.release()

    monkeypatch.setattr(array_files, "replace", write)
    made = make_shard(path, snapshot_period_updates=1)
    made.initialise(ONES.tobytes())
    assert tried.acquire(timeout=10)
    before = array_files.read(path)
    full[0] = True
    for updates in range(3):  # Where a try begins, the one before is over.
        assert push(made, updates=updates) == ("applied", 0)
        assert tried.acquire(timeout=10)
    [line] = node.lines
    assert line.startswith(f"CANNOT WRITE {path}: No space left on device.")
    assert_same(array_files.read(path), before)
    full[0] = False
    for updates in range(3, 5):
        push(made, updates=updates)
        assert tried.acquire(timeout=10)
    assert node.lines[1:] == [f"{path} can be written again."]
    assert_same(array_files.read(path), made.save())


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), MemoryError("no memory")]
)
def test_a_shard_dies_of_what_its_writer_died_of(path, node, monkeypatch, error):
    def write(path, state):
        raise error

    monkeypatch.setattr(array_files, "replace", write)
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    made._writer.thread.join(10)
    with pytest.raises(type(error), match=str(error.args[-1])):
        made.run()


def test_a_last_snapshot_that_fails_is_no_clean_end(path, node, monkeypatch):
    def write(path, state):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(array_files, "replace", write)
    with pytest.raises(OSError, match="Too many open files"):
        make_shard(path, stopped=True).run()


def test_a_period_of_no_updates_is_refused(path):
    with pytest.raises(ValueError, match="snapshot_period_updates is 0: give 1"):
        make_shard(path, snapshot_period_updates=0)


def make_local_store(memory=None):
    return local_store.LocalStore(LAYOUT, **SETTINGS)


def make_shared_memory_store(memory):
    return shared_memory_store.SharedMemoryStore(LAYOUT, memory.open(), **SETTINGS)


@pytest.mark.parametrize("make_store", [make_local_store, make_shared_memory_store])
class TestStoresInMemory:
    @pytest.fixture
    def memory(self):
        return shared_memory.SharedMemory.create()

    @pytest.fixture
    def saved(self, path):
        """What a store of one shard had come to, in the file."""
        store = make_local_store()
        store.initialise(ONES)
        for _ in range(3):
            store.push(ONES, store.pull().versions, steps=2)
        array_files.replace(path, store.save())
        return store

    def test_a_store_begins_with_what_the_file_holds(
        self, make_store, memory, path, saved, node
    ):
        store = make_store(memory)
        assert snapshots.start_from(store, path)
        assert not store.initialise(9 * ONES)
        for target in (False, True):
            assert (
                store.pull(target=target).vector.tolist()
                == saved.pull(target=target).vector.tolist()
            )
        assert store.pull().versions == (core.Version(1, 3),)
        assert store.statistics() == saved.statistics()
        for each in (store, saved):  # The momentum is there too.
            each.push(ONES, each.pull().versions, steps=2)
        assert store.pull().vector.tolist() == saved.pull().vector.tolist()

    def test_a_store_with_parameters_keeps_them(
        self, make_store, memory, path, saved, node
    ):
        store = make_store(memory)
        store.initialise(9 * ONES)
        assert not snapshots.start_from(store, path)
        assert store.pull().vector.tolist() == [9.0] * 4

    def test_without_a_file_a_store_begins_empty(self, make_store, memory, path, node):
        store = make_store(memory)
        assert not snapshots.start_from(store, path)
        with pytest.raises(core.NotInitialisedError):
            store.pull()
        assert not node.lines

    def test_a_file_of_another_network_ends_the_program(
        self, make_store, memory, path, saved, node
    ):
        state = saved.save()
        for name in ("parameters", "target_parameters", "slots/momentum"):
            state[name] = np.ones(5, np.float32)
        array_files.replace(path, state)
        store = make_store(memory)
        with pytest.raises(
            pulse.FatalError, match=r"parameters-0\.npz is no state to go"
        ):
            snapshots.start_from(store, path)


def test_one_of_many_workers_restores_the_shared_memory(path, node):
    store = make_local_store()
    store.initialise(ONES)
    array_files.replace(path, store.save())
    memory = shared_memory.SharedMemory.create()
    workers = [make_shared_memory_store(memory) for _ in range(8)]
    barrier, restored = threading.Barrier(8), []

    def start(worker):
        barrier.wait()
        restored.append(snapshots.start_from(worker, path))

    threads = [threading.Thread(target=start, args=[each]) for each in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(restored) == [False] * 7 + [True]
    assert {each.pull().versions for each in workers} == {(core.Version(1, 0),)}


def test_a_gradient_is_a_step_of_the_shards_work_and_a_question_is_none(
    node, path, written
):
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    made.statistics()
    made.pull()
    assert pulse.current().steps == 0
    push(made, updates=0)
    assert pulse.current().steps == 1


@pytest.mark.parametrize("fault", ["no parameters", "another network"])
def test_a_gradient_that_is_refused_is_no_step_of_the_shards_work(
    node, path, written, fault
):
    made = make_shard(path)
    if fault == "another network":
        made.initialise(np.ones(5, np.float32).tobytes())
    with pytest.raises((core.NotInitialisedError, ValueError)):
        push(made, updates=0)
    assert pulse.current().steps == 0


def test_a_shard_shows_its_work_in_its_own_node_whoever_calls_it(path, written):
    own = pulse.Pulse()
    before = pulse.current()
    made = []

    def build():
        pulse.use_in_this_thread(own)
        made.append(make_shard(path))

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    made[0].initialise(ONES.tobytes())
    steps = before.steps
    push(made[0], updates=0)  # In another thread, as courier's are.
    assert (own.steps, own.numbers["updates"]) == (1, 1)
    assert before.steps == steps


def test_whoever_watches_sees_what_a_shard_applied_and_discarded(node, path, written):
    made = make_shard(path)
    made.initialise(ONES.tobytes())
    push(made, updates=0)
    push(made, updates=0)
    push(made, updates=0, epoch=7)
    assert pulse.current().numbers == {
        "updates": 2,
        "discarded": 1,
        "staleness_updates": 0.5,  # Of 0 and of 1.
    }
