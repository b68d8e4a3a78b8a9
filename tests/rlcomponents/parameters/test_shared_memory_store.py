"""The store in shared memory: what workers see of each other, alive or killed."""

import contextlib
import functools
import pickle
import subprocess
import sys
import threading
import time
from concurrent import futures

import numpy as np
import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    shared_memory,
    shared_memory_store,
    shared_parameters,
    update_rules,
)
from rlcomponents.testing import store_contract

ONES = store_contract.ONES
ZEROS = store_contract.ZEROS
SIZE = store_contract.NUM_PARAMETERS

Settings = store_contract.StoreSettings


def make_worker(handle, **settings):
    """Returns a worker's store on memory that others may use too."""
    made = Settings(**settings)
    return shared_memory_store.SharedMemoryStore(
        made.layout,
        handle.open(),
        made.rule,
        made.learning_rate,
        max_staleness_updates=made.max_staleness_updates,
        target_period_updates=made.target_period_updates,
        target_period_steps=made.target_period_steps,
        max_gradient_norm=made.max_gradient_norm,
    )


def make_workers(number, **settings):
    handle = shared_memory.SharedMemory.create()
    workers = [make_worker(handle, **settings) for _ in range(number)]
    workers[0].initialise(ZEROS)
    return workers


def push(store, gradient=ONES, steps=1):
    return store.push(gradient, store.pull().versions, steps)


class TestSharedMemoryStore(store_contract.StoreContract):
    shows_half_updates = "Hogwild!: a pull copies what others are changing."

    @pytest.fixture
    def make_store(self):
        def make(settings):
            fields = vars(settings)
            return make_worker(shared_memory.SharedMemory.create(), **fields)

        return make


def test_workers_see_what_others_push():
    first, second = make_workers(2, target_period_updates=2)
    old = second.pull().versions
    push(first, steps=4)
    push(first, steps=4)
    result = second.push(ONES, old, 3)
    assert result.staleness_updates == (2,)
    for worker in (first, second):
        snapshot = worker.pull()
        np.testing.assert_array_equal(snapshot.vector, -3 * ONES)
        assert snapshot.versions == (core.Version(0, 3),)
        assert snapshot.steps == 11
        assert worker.pull(target=True).updates == 2
        assert worker.statistics() == core.StoreStatistics(11, 3, 0, 2 / 3)


def test_workers_share_the_staleness_limit():
    first, second = make_workers(2, max_staleness_updates=0)
    old = second.pull().versions
    push(first)
    assert second.push(ONES, old, 1).verdicts == (core.Verdict.STALE,)
    assert first.statistics().discarded_stale == 1


def test_the_learning_rate_follows_the_steps_of_all_workers():
    first, second = make_workers(2, learning_rate=schedules.Linear(1.0, 0.0, 10))
    assert first.add_steps(5) == 5
    push(second)
    np.testing.assert_array_equal(second.pull().vector, -0.5 * ONES)


def test_shared_rmsprop_statistics():
    rule = update_rules.RMSProp(decay=0.99, epsilon=0.1)
    first, second = make_workers(2, rule=rule)
    push(first)
    # 1 / sqrt(0.01 + 0.1), then 1 / sqrt(0.0199 + 0.1).
    np.testing.assert_allclose(first.pull().vector, -3.0151 * ONES, rtol=1e-4)
    push(second)
    np.testing.assert_allclose(
        first.pull().vector, -(3.0151 + 2.8880) * ONES, rtol=1e-4
    )


def test_epsilon_is_inside_the_root():
    (worker,) = make_workers(1, rule=update_rules.RMSProp(decay=0.99, epsilon=0.1))
    push(worker, 0.01 * ONES)
    np.testing.assert_allclose(worker.pull().vector, -0.0316 * ONES, rtol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"layout": layouts.ParameterLayout(["w", "b", "s"], [[3, 2], [4], []])},
            "for another network .11 parameters, layout .* than this worker's",
        ),
        ({"rule": update_rules.Adam()}, r"another update rule \(SGD\(\)\) than .*Adam"),
        ({"target_period_steps": 7}, "another target period"),
    ],
)
def test_a_worker_that_differs_is_refused(settings, message):
    handle = shared_memory.SharedMemory.create()
    first = make_worker(handle)
    other = make_worker(handle, **settings)
    first.initialise(ZEROS)
    with pytest.raises(ValueError, match=message):
        other.initialise(ZEROS)
    with pytest.raises(ValueError, match=message):
        other.pull()
    with pytest.raises(ValueError, match=message):
        other.push(ONES, first.pull().versions, 1)
    with pytest.raises(ValueError, match=message):
        other.restore(saved_under(**settings))
    assert first.statistics() == core.StoreStatistics(0, 0, 0, 0.0)


def saved_under(**settings):
    store = Settings(**settings).make_local_store()
    store.initialise(ZEROS)
    return store.save()


def test_a_crossing_of_the_target_period_is_noticed_once(monkeypatch):
    phases = []
    copy_target = shared_parameters.SharedParameters.copy_target

    def copy_and_note(self, version, phase):
        phases.append(phase)
        copy_target(self, version, phase)

    monkeypatch.setattr(
        shared_parameters.SharedParameters, "copy_target", copy_and_note
    )
    workers = make_workers(4, target_period_steps=10)
    barrier = threading.Barrier(4)

    def push_many(worker):
        barrier.wait()
        for _ in range(100):
            push(worker, steps=1)

    with futures.ThreadPoolExecutor(4) as executor:
        list(executor.map(push_many, workers))
    # Two multiples may pass before anybody looks, but none is noticed twice, and the
    # last one is not missed.
    assert phases == sorted(set(phases))
    assert phases[-1] == 40
    assert workers[0].pull(target=True).updates >= 397


def test_a_target_copy_that_was_not_finished_is_still_due():
    class Deadly:
        def __setitem__(self, place, values):
            raise KeyboardInterrupt

    first, second = make_workers(2, target_period_updates=1)
    first._shared.arrays()[shared_parameters.TARGET_PARAMETERS] = Deadly()
    with pytest.raises(KeyboardInterrupt):
        push(first)
    target = second.pull(target=True)
    np.testing.assert_array_equal(target.vector, -ONES)
    assert target.updates == 1


def test_whoever_saw_the_crossing_gets_the_new_target_copy(monkeypatch):
    first, second = make_workers(2, target_period_steps=10)
    monkeypatch.setattr(first, "_notice_target", lambda _: None)  # Not come to it.
    push(first, steps=10)
    assert second.pull().steps == 10
    assert second.pull(target=True).updates == 1


def test_values_are_never_older_than_their_version():
    pusher, puller = make_workers(2)
    pushed = threading.Event()

    def push_many():
        for _ in range(300):
            push(pusher)
        pushed.set()

    with futures.ThreadPoolExecutor(1) as executor:
        done = executor.submit(push_many)
        while not pushed.is_set() and not done.done():
            snapshot = puller.pull()
            assert (snapshot.vector <= -snapshot.updates).all()
        done.result()


def test_what_is_saved_without_the_network_is_what_the_store_would_save():
    handle = shared_memory.SharedMemory.create()
    reader = shared_parameters.SharedParameters(handle.open())
    assert "parameters" not in reader.save()
    worker = make_worker(handle, rule=update_rules.Adam(), target_period_updates=2)
    worker.initialise(ONES)
    for _ in range(3):
        push(worker, steps=5)
    assert reader.statistics() == worker.statistics()
    ours, theirs = reader.save(), worker.save()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name])
    assert ours["steps"] == 15


@pytest.mark.parametrize("period", ["target_period_updates", "target_period_steps"])
def test_resume_is_a_continuation(period):
    def make():
        return make_worker(
            shared_memory.SharedMemory.create(),
            rule=update_rules.Adam(),
            learning_rate=schedules.Linear(0.1, 0.0, 100),
            **{period: 3 if period == "target_period_updates" else 12},
        )

    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(10, SIZE)).astype(np.float32)
    without_stop, first, second = make(), make(), make()
    for store in (without_stop, first):
        store.initialise(ONES)
    for gradient in gradients[:5]:
        push(without_stop, gradient, steps=4)
        push(first, gradient, steps=4)
    second.restore(first.save())
    assert not second.initialise(ZEROS)
    for gradient in gradients[5:]:
        push(without_stop, gradient, steps=4)
        push(second, gradient, steps=4)
    for target in (False, True):
        ours, theirs = (s.pull(target=target) for s in (second, without_stop))
        np.testing.assert_array_equal(ours.vector, theirs.vector)
        assert ours.versions == (core.Version(1, theirs.updates),)
        assert ours.steps == theirs.steps == 40
    assert second.statistics() == without_stop.statistics()


def test_a_restored_state_is_everybodys_and_older_gradients_are_discarded():
    first, second = make_workers(2, target_period_updates=1)
    push(first)
    saved = first.save()
    push(second, steps=9)
    old = second.pull().versions
    first.restore(saved)
    snapshot = second.pull()
    np.testing.assert_array_equal(snapshot.vector, -ONES)
    assert (snapshot.versions, snapshot.steps) == ((core.Version(1, 1),), 1)
    assert second.push(ONES, old, 1).verdicts == (core.Verdict.OTHER_EPOCH,)
    assert second.pull(target=True).updates == 1


def test_a_state_of_a_local_store_can_be_restored():
    local = Settings(rule=update_rules.RMSProp()).make_local_store()
    local.initialise(ONES)
    push(local, steps=6)
    worker = make_worker(
        shared_memory.SharedMemory.create(), rule=update_rules.RMSProp()
    )
    worker.restore(local.save())
    for store in (local, worker):
        push(store)
    np.testing.assert_array_equal(worker.pull().vector, local.pull().vector)
    assert worker.statistics() == local.statistics()


def test_a_state_of_another_network_is_refused():
    (worker,) = make_workers(1)
    push(worker)
    larger = Settings(layout=store_contract.LARGE_LAYOUT).make_local_store()
    larger.initialise(np.ones(larger.layout.num_parameters, np.float32))
    with pytest.raises(ValueError, match=r"saved state is float32 of shape \(99907,\)"):
        worker.restore(larger.save())
    assert worker.pull().versions == (core.Version(0, 1),)


def test_counts_of_an_empty_state_are_restored():
    (worker,) = make_workers(1)
    empty = make_worker(shared_memory.SharedMemory.create())
    empty.add_steps(8)
    worker.restore(empty.save())
    assert worker.add_steps(0) == 8


# What other processes do.

WORKER = """
import os, pickle, signal, sys
import numpy as np
from rlcomponents import schedules
from rlcomponents.parameters import shared_memory_store, update_kernels, update_rules
from rlcomponents.testing import store_contract

layout = store_contract.LARGE_LAYOUT
store = shared_memory_store.SharedMemoryStore(
    layout,
    pickle.loads(bytes.fromhex(sys.argv[1])).open(),
    update_rules.RMSProp(),
    schedules.Constant(1e-3),
    max_staleness_updates=None,
    target_period_updates=None,
    target_period_steps=50,
)
rng = np.random.default_rng(os.getpid())
gradient = rng.normal(size=layout.num_parameters).astype(np.float32)
store.initialise(np.zeros_like(gradient))
"""
PUSH_FOR_EVER = """
print("ready", flush=True)
while True:
    store.push(gradient, store.pull().versions, 5)
"""
PUSH_MANY = """
print("ready", flush=True)
input()
for _ in range(500):
    store.push(gradient, store.pull().versions, 5)
"""
DIE_HALFWAY = """
def rmsprop(parameters, gradient, mean_square, *args):
    mean_square[: mean_square.size // 2] = 1.0
    parameters[: parameters.size // 2] -= 1.0
    os.kill(os.getpid(), signal.SIGKILL)

update_kernels.rmsprop = rmsprop
store.push(gradient, store.pull().versions, 5)
"""
DIE_AT_THE_TARGET_COPY = """
store._shared._set_target_clock = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
store.push(gradient, store.pull().versions, 50)
"""

make_large_worker = functools.partial(
    make_worker,
    layout=store_contract.LARGE_LAYOUT,
    rule=update_rules.RMSProp(),
    target_period_steps=50,
)


@contextlib.contextmanager
def process(code, handle):
    command = [sys.executable, "-c", WORKER + code, pickle.dumps(handle).hex()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def assert_others_go_on(worker):
    before = worker.pull()
    assert np.isfinite(before.vector).all()
    gradient = np.ones_like(before.vector)
    assert worker.push(gradient, before.versions, 50).applied
    after = worker.pull()
    assert (after.vector < before.vector).all()
    target = worker.pull(target=True)
    np.testing.assert_array_equal(target.vector, after.vector)
    for array in worker.save().values():
        assert np.isfinite(array).all()


@pytest.mark.parametrize("code", [DIE_HALFWAY, DIE_AT_THE_TARGET_COPY])
def test_a_worker_killed_halfway_leaves_the_others_learning(code):
    handle = shared_memory.SharedMemory.create()
    worker = make_large_worker(handle)
    with process(code, handle) as started:
        assert started.wait() == -9
    assert_others_go_on(worker)


@pytest.mark.integration
def test_workers_killed_at_any_moment_leave_finite_values():
    handle = shared_memory.SharedMemory.create()
    worker = make_large_worker(handle)
    rng = np.random.default_rng(0)
    for _ in range(5):
        with process(PUSH_FOR_EVER, handle) as started:
            assert started.stdout.readline() == "ready\n"
            before = worker.statistics().updates
            while worker.statistics().updates < before + 3:
                time.sleep(1e-3)
            time.sleep(rng.uniform(0.0, 2e-3))  # The moment is the point.
            started.kill()
            started.wait()
        assert_others_go_on(worker)


@pytest.mark.integration
def test_no_count_of_many_processes_is_lost():
    handle = shared_memory.SharedMemory.create()
    worker = make_large_worker(handle)
    with contextlib.ExitStack() as stack:
        pushers = [stack.enter_context(process(PUSH_MANY, handle)) for _ in range(3)]
        for pusher in pushers:
            assert pusher.stdout.readline() == "ready\n"
        for pusher in pushers:
            pusher.stdin.write("\n")
            pusher.stdin.flush()
        for pusher in pushers:
            assert pusher.wait() == 0
    statistics = worker.statistics()
    assert (statistics.updates, statistics.steps) == (1500, 7500)
    assert worker.pull().updates == 1500
    assert_others_go_on(worker)
