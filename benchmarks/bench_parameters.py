"""Measures the parameter store against the least that the work can cost.

    python benchmarks/bench_parameters.py

Four questions, each answered as a ratio against a baseline of the same run, so that
the machine hardly matters:

1. How long does one update take? Against the same rule written in NumPy.
2. What does the store in shared memory add to copying and updating? A pull against a
   memcpy; a push, which checks the gradient, counts and updates, against the rule
   alone on memory that is not shared; both with shared RMSProp, as the asynchronous
   methods use it. The goal for an update of the A3C net is 0.4 ms on one core.
3. What does a server add to moving the bytes? A pull and a push of K shards over
   courier, each shard a process, against courier calls that carry the same bytes and do
   nothing with them.
4. What do snapshots cost? The time that a shard's process spends on one, copying and
   writing, against the time in which as many updates arrive as lie between two: at the
   default period, one shard, 60 updates a second. The goal is less than 2 %; the copy
   alone holds up pushes.
"""

import contextlib
import functools
import multiprocessing
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures

import courier
import numpy as np
import portpicker
from launchpad.nodes.courier import courier_utils

from agents.gorila_dqn import config as gorila_config
from rlcomponents import array_files, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    shard,
    sharded_client,
    shared_memory,
    shared_memory_store,
    update_rules,
)

NUM_PARAMETERS = {"A3C net": 680_000, "Nature DQN net": 1_700_000}
NUM_SHARDS = (1, 2, 4)
NUM_CALLS = 50
UPDATES_PER_SEC = 60


class Echo:
    """Moves bytes and does nothing with them: the baseline of a shard."""

    def __init__(self, size_bytes: int) -> None:
        """Makes the bytes that `get` returns."""
        self._vector = bytes(size_bytes)

    def get(self) -> bytes:
        """Returns as many bytes as a pull."""
        return self._vector

    def put(self, vector: bytes) -> int:
        """Takes as many bytes as a push."""
        return len(vector)


def numpy_adagrad(p: np.ndarray, g: np.ndarray, s: np.ndarray) -> None:
    """`AdaGrad(epsilon=1e-7)`, in place, as one would write it."""
    s += g * g
    p -= np.float32(1e-3) * g / (np.sqrt(s) + np.float32(1e-7))


def numpy_rmsprop(p: np.ndarray, g: np.ndarray, s: np.ndarray) -> None:
    """`RMSProp(decay=0.99, epsilon=0.1)`, in place, as one would write it."""
    s *= np.float32(0.99)
    s += np.float32(0.01) * (g * g)
    p -= np.float32(1e-3) * g / np.sqrt(s + np.float32(0.1))


def fastest_ms(call: Callable[[], object]) -> float:
    """Returns the shortest time of some calls, the one least disturbed by others."""
    times_secs = []
    for _ in range(NUM_CALLS):
        start = time.perf_counter()
        call()
        times_secs.append(time.perf_counter() - start)
    return 1e3 * min(times_secs)


def bench_update_rules() -> None:
    """Prints the time of one update, per rule and size."""
    print("One update, one thread              kernel ms   NumPy ms   NumPy / kernel")
    rng = np.random.default_rng(0)
    for network, size in NUM_PARAMETERS.items():
        for rule, slot, in_numpy in (
            (update_rules.AdaGrad(), "accumulator", numpy_adagrad),
            (update_rules.RMSProp(), "mean_square", numpy_rmsprop),
        ):
            p, g = rng.normal(size=(2, size)).astype(np.float32)
            state = rule.make_state(size)
            update = functools.partial(rule.apply, p, g, state, 1e-3)
            kernel_ms = fastest_ms(update)
            numpy_ms = fastest_ms(functools.partial(in_numpy, p, g, state[slot]))
            print(
                f"{type(rule).__name__:8} {network:14} {size / 1e6:4.2f} M "
                f"{kernel_ms:14.2f} {numpy_ms:10.2f} {numpy_ms / kernel_ms:16.1f}"
            )


def bench_shared_memory() -> None:
    """Prints the time of a pull and of a push in shared memory, per size."""
    print(
        "\nPull and push in shared memory  pull ms  memcpy ms  ratio  "
        "push ms  RMSProp ms  ratio"
    )
    rng = np.random.default_rng(0)
    for network, size in NUM_PARAMETERS.items():
        layout = layouts.ParameterLayout([network], [[size]])
        store = make_shared_memory_store(layout)
        p, g = rng.normal(size=(2, size)).astype(np.float32)
        store.initialise(p)
        versions = store.pull().versions
        rule = update_rules.RMSProp()
        update = functools.partial(rule.apply, p, g, rule.make_state(size), 1e-3)
        pull_ms, memcpy_ms = fastest_ms(store.pull), fastest_ms(g.copy)
        push_ms = fastest_ms(functools.partial(store.push, g, versions, 5))
        update_ms = fastest_ms(update)
        print(
            f"{network:14} {size / 1e6:4.2f} M {pull_ms:19.3f} {memcpy_ms:10.3f} "
            f"{pull_ms / memcpy_ms:6.2f} {push_ms:8.3f} {update_ms:11.3f} "
            f"{push_ms / update_ms:6.2f}"
        )
    store = make_shared_memory_store(layouts.ParameterLayout(["w"], [[1]]))
    print(f"Adding up the counts of all workers: {fastest_ms(store.statistics):.4f} ms")


def bench_snapshots() -> None:
    """Prints the share of the time that snapshots take, per size."""
    config = gorila_config.GorilaConfig(environment="catch")
    interval_updates = config.snapshot_period_updates // 2
    interval_ms = 1e3 * interval_updates / UPDATES_PER_SEC
    print(
        f"\nSnapshots, one each {interval_updates} updates   copy ms  write ms  "
        "copy share  both share"
    )
    for network, size in NUM_PARAMETERS.items():
        made = shard.ParameterShard(
            update_rules.AdaGrad(),
            schedules.Constant(1e-3),
            max_staleness_updates=None,
            target_period_updates=config.target_period_updates,
        )
        made.initialise(np.zeros(size, np.float32).tobytes())
        copy_ms = fastest_ms(made.save)
        state = made.save()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "parameters-0.npz")
            write_ms = fastest_ms(functools.partial(array_files.replace, path, state))
        print(
            f"{network:14} {size / 1e6:4.2f} M {copy_ms:20.1f} {write_ms:9.1f} "
            f"{copy_ms / interval_ms:11.2%} {(copy_ms + write_ms) / interval_ms:11.2%}"
        )


def make_shared_memory_store(
    layout: layouts.ParameterLayout,
) -> shared_memory_store.SharedMemoryStore:
    """Makes a store as the asynchronous methods use it."""
    return shared_memory_store.SharedMemoryStore(
        layout,
        shared_memory.SharedMemory.create().open(),
        update_rules.RMSProp(),
        schedules.Linear(7e-4, 0.0, 80_000_000),
        max_staleness_updates=None,
        target_period_updates=None,
        target_period_steps=10_000,
    )


def serve(size_bytes: Sequence[int], ports: Sequence[int]) -> None:
    """Serves a shard and an `Echo` for each size, until the process is ended."""
    servers = []
    for size, port in zip(size_bytes, ports, strict=True):
        made = shard.ParameterShard(
            update_rules.AdaGrad(),
            schedules.Constant(1e-3),
            max_staleness_updates=None,
            target_period_updates=None,
        )
        echo = Echo(size)
        server = courier_utils.make_courier_server(made, port=port)
        server.Bind("get", echo.get)
        server.Bind("put", echo.put)
        server.Start()
        servers.append(server)
    servers[0].Join()


@contextlib.contextmanager
def served(
    cuts: Sequence[tuple[layouts.ParameterLayout, int]],
) -> Iterator[list[list[courier.Client]]]:
    """Serves the shards of every cut; gives each cut's clients.

    All shards of one cut are in different processes; shards of different cuts, which
    are never called together, share them.
    """
    context = multiprocessing.get_context("spawn")
    size_bytes: list[list[int]] = [[] for _ in range(max(k for _, k in cuts))]
    ports: list[list[int]] = [[] for _ in size_bytes]
    clients: list[list[courier.Client]] = []
    for layout, num_shards in cuts:
        clients.append([])
        for index, part in enumerate(layout.shard_slices(num_shards)):
            size_bytes[index].append(4 * (part.stop - part.start))
            ports[index].append(portpicker.pick_unused_port())
            clients[-1].append(
                courier.Client(
                    f"localhost:{ports[index][-1]}",
                    call_timeout=120,
                    wait_for_ready=False,
                )
            )
    processes = [
        context.Process(target=serve, args=args, daemon=True)
        for args in zip(size_bytes, ports, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        yield clients
    finally:
        for process in processes:
            process.terminate()
            process.join()


def bench_store() -> None:
    """Prints the time of a pull and of a push, per size and number of shards."""
    print(
        "\nPull and push over courier      pull ms  raw ms  ratio  "
        "push ms  raw ms  ratio"
    )
    cuts = [
        (layouts.ParameterLayout([network], [[size]]), num_shards)
        for network, size in NUM_PARAMETERS.items()
        for num_shards in NUM_SHARDS
    ]
    with served(cuts) as clients:
        for (layout, _), each in zip(cuts, clients, strict=True):
            print_store_row(layout, each)


def print_store_row(
    layout: layouts.ParameterLayout, clients: Sequence[courier.Client]
) -> None:
    """Measures one number of shards."""
    store = sharded_client.ShardedClient(layout, clients, should_stop=lambda: False)
    store.initialise(np.zeros(layout.num_parameters, np.float32))
    gradient = np.ones(layout.num_parameters, np.float32)
    versions = store.pull().versions
    parts = [gradient[part].tobytes() for part in layout.shard_slices(len(clients))]

    def raw_pull() -> None:
        futures.wait([client.futures.get() for client in clients])

    def raw_push() -> None:
        futures.wait(
            [
                client.futures.put(part)
                for client, part in zip(clients, parts, strict=True)
            ]
        )

    pull_ms = fastest_ms(store.pull)
    raw_pull_ms = fastest_ms(raw_pull)
    push_ms = fastest_ms(lambda: store.push(gradient, versions, 1))
    raw_push_ms = fastest_ms(raw_push)
    print(
        f"{layout.names[0]:14} {layout.num_parameters / 1e6:4.2f} M  K={len(clients)}"
        f"{pull_ms:12.1f} {raw_pull_ms:7.1f} {pull_ms / raw_pull_ms:6.2f} "
        f"{push_ms:8.1f} {raw_push_ms:7.1f} {push_ms / raw_push_ms:6.2f}"
    )


def main() -> None:
    """Prints all."""
    bench_update_rules()
    bench_shared_memory()
    bench_snapshots()
    bench_store()


if __name__ == "__main__":
    main()
