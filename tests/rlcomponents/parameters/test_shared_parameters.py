"""How a store lies in shared memory: counts that none is lost of, and arrays."""

import threading

import numpy as np
import pytest

from rlcomponents import core
from rlcomponents.parameters import saved_states, shared_memory, shared_parameters

FACTS = {"network": "3 parameters"}
NO_TARGET = {"target_version": core.Version(0, 0), "target_phase": 0}


@pytest.fixture
def handle():
    return shared_memory.SharedMemory.create()


def opened(handle):
    return shared_parameters.SharedParameters(handle.open())


def ones(*names):
    return {name: np.ones(3, np.float32) for name in names}


def test_memory_that_nobody_used_has_no_counts_and_no_parameters(handle):
    shared = opened(handle)
    assert not shared.is_ready
    assert shared.statistics() == core.StoreStatistics(0, 0, 0, 0.0)
    assert shared.save() == {"epoch": 0, **saved_states.ShardStatistics()._asdict()}
    with pytest.raises(core.NotInitialisedError):
        shared.arrays()


def test_counts_are_the_sum_over_all_workers(handle):
    first, second, reader = opened(handle), opened(handle), opened(handle)
    np.asarray(first.own_row())[:5] = [1, 2, 3, 4, 5]
    np.asarray(second.own_row())[:5] = [10, 20, 30, 40, 50]
    assert reader.counts() == (11, 22, 33, 44, 55)
    assert reader.statistics() == core.StoreStatistics(11, 22, 77, 2.5)


def test_no_count_of_many_workers_is_lost(handle):
    barrier = threading.Barrier(4)

    def count():
        row = opened(handle).own_row()
        barrier.wait()
        for _ in range(5_000):
            row[shared_parameters.STEPS] += 1
        barrier.wait()  # Whoever ends early would leave the row to another.

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened(handle).counts().steps == 20_000


def test_counts_of_workers_that_ended_stay_and_their_rows_are_used_again(handle):
    reader = opened(handle)
    for _ in range(2 * shared_parameters.MAX_WORKERS):
        worker = opened(handle)
        worker.own_row()[shared_parameters.UPDATES] += 1
        del worker
    assert reader.counts().updates == 2 * shared_parameters.MAX_WORKERS


def test_too_many_workers_at_once_are_refused(handle):
    workers = [opened(handle) for _ in range(shared_parameters.MAX_WORKERS)]
    rows = {address(worker.own_row()) - address(worker._rows) for worker in workers}
    assert len(rows) == shared_parameters.MAX_WORKERS
    with pytest.raises(RuntimeError, match="255 workers count in this shared memory"):
        opened(handle).own_row()


def address(integers):
    return np.asarray(integers).ctypes.data


def test_rows_lie_in_cache_lines_of_their_own(handle):
    first, second = opened(handle).own_row(), opened(handle).own_row()
    assert address(first) % 64 == address(second) % 64 == 0
    assert first.nbytes == 64


def test_arrays_are_shared_and_of_the_names_and_shapes_given(handle):
    writer, reader = opened(handle), opened(handle)
    arrays = {**ones("parameters"), "slots/count": np.array(5.0, np.float32)}
    with writer.set_up_locked():
        writer.write_arrays(FACTS, arrays, **NO_TARGET)
    found = reader.arrays()
    assert {name: array.shape for name, array in found.items()} == {
        "parameters": (3,),
        "slots/count": (),
    }
    writer.arrays(FACTS)["parameters"][1] = 7.0
    np.testing.assert_array_equal(found["parameters"], [1, 7, 1])
    assert found["slots/count"] == 5.0


def test_arrays_made_with_other_facts_are_refused(handle):
    writer, other = opened(handle), opened(handle)
    with writer.set_up_locked():
        writer.write_arrays(FACTS, ones("parameters"), **NO_TARGET)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"another network \(3 parameters\) than .* \(4 parameters"
        ):
            other.arrays({"network": "4 parameters"})


def test_arrays_that_were_not_finished_are_made_anew(handle, monkeypatch):
    first, second = opened(handle), opened(handle)

    def die(version, phase):
        raise KeyboardInterrupt

    monkeypatch.setattr(first, "_set_target_clock", die)
    with pytest.raises(KeyboardInterrupt), first.set_up_locked():
        first.write_arrays(FACTS, ones("parameters"), **NO_TARGET)
    assert not second.is_ready
    with second.set_up_locked():
        second.write_arrays({}, ones("parameters", "slots/m"), **NO_TARGET)
    assert opened(handle).arrays({}).keys() == {"parameters", "slots/m"}


def test_a_saved_state_shares_no_memory(handle):
    shared = opened(handle)
    arrays = ones("parameters", "target_parameters", "slots/m")
    with shared.set_up_locked():
        shared.write_arrays(
            FACTS, arrays, target_version=core.Version(1, 8), target_phase=2
        )
    state = shared.save()
    for array in shared.arrays().values():
        array[...] = 9.0
    for name in arrays:
        np.testing.assert_array_equal(state[name], [1, 1, 1])
    assert (state["target_epoch"], state["target_updates"]) == (1, 8)
