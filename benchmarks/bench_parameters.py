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
import measuring
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
CALLS_PER_ROUND = 10
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


class Bench:
    """Measures calls beside their baselines, and reports them."""

    def __init__(self, options: measuring.Options) -> None:
        """Begins the report."""
        self._rounds = options.rounds
        self.report = measuring.Report("parameters", options)

    def compare(
        self,
        name: str,
        call: Callable[[], object],
        baseline: Callable[[], object],
        what: str,
        *,
        at_least: float | None = None,
    ) -> None:
        """Reports how fast a call is beside its baseline: 1 is as fast.

        Args:
            name: Of the call.
            call: Measured.
            baseline: Measured in turns with it.
            what: Name of the baseline.
            at_least: The goal.
        """
        found = measuring.interleave(
            {
                "call": functools.partial(fastest_ms, call),
                "baseline": functools.partial(fastest_ms, baseline),
            },
            self._rounds,
        )
        self.report.number(name, found["call"], "ms")
        self.report.ratio(
            f"{name}: speed / {what}",
            measuring.ratios(found["baseline"], found["call"]),
            at_least=at_least,
        )


def fastest_ms(call: Callable[[], object]) -> float:
    """Returns the shortest time of some calls, the one least disturbed by others."""
    times_secs = []
    for _ in range(CALLS_PER_ROUND):
        start = time.perf_counter()
        call()
        times_secs.append(time.perf_counter() - start)
    return 1e3 * min(times_secs)


def bench_update_rules(bench: Bench) -> None:
    """Reports the time of one update, per rule and size."""
    print("One update, one thread")
    rng = np.random.default_rng(0)
    for network, size in NUM_PARAMETERS.items():
        for rule, slot, in_numpy in (
            (update_rules.AdaGrad(), "accumulator", numpy_adagrad),
            (update_rules.RMSProp(), "mean_square", numpy_rmsprop),
        ):
            p, g = rng.normal(size=(2, size)).astype(np.float32)
            state = rule.make_state(size)
            bench.compare(
                f"{type(rule).__name__}, {network}",
                functools.partial(rule.apply, p, g, state, 1e-3),
                functools.partial(in_numpy, p, g, state[slot]),
                "NumPy",
            )


def bench_shared_memory(bench: Bench) -> None:
    """Reports the time of a pull and of a push in shared memory, per size."""
    print("In shared memory")
    rng = np.random.default_rng(0)
    for network, size in NUM_PARAMETERS.items():
        layout = layouts.ParameterLayout([network], [[size]])
        store = make_shared_memory_store(layout)
        p, g = rng.normal(size=(2, size)).astype(np.float32)
        store.initialise(p)
        versions = store.pull().versions
        rule = update_rules.RMSProp()
        bench.compare(
            f"shared memory, pull, {network}",
            store.pull,
            g.copy,
            "memcpy",
            at_least=0.6,
        )
        bench.compare(
            f"shared memory, push, {network}",
            functools.partial(store.push, g, versions, 5),
            functools.partial(rule.apply, p, g, rule.make_state(size), 1e-3),
            "RMSProp alone",
        )
    store = make_shared_memory_store(layouts.ParameterLayout(["w"], [[1]]))
    bench.report.number("shared memory, counts", fastest_ms(store.statistics), "ms")


def bench_snapshots(bench: Bench) -> None:
    """Reports the share of the time that snapshots take, per size."""
    config = gorila_config.GorilaConfig(environment="catch")
    interval_updates = config.snapshot_period_updates // 2
    interval_ms = 1e3 * interval_updates / UPDATES_PER_SEC
    print(f"Snapshots, one each {interval_updates} updates")
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
        bench.report.number(f"snapshot, copy, {network}", copy_ms, "ms")
        bench.report.number(f"snapshot, write, {network}", write_ms, "ms")
        bench.report.ratio(
            f"snapshot, percent of the shard's time, {network}",
            100.0 * (copy_ms + write_ms) / interval_ms,
            at_most=2.0,
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


def bench_store(bench: Bench) -> None:
    """Reports the time of a pull and of a push, per size and number of shards."""
    print("Over courier")
    cuts = [
        (layouts.ParameterLayout([network], [[size]]), num_shards)
        for network, size in NUM_PARAMETERS.items()
        for num_shards in NUM_SHARDS
    ]
    with served(cuts) as clients:
        for (layout, _), each in zip(cuts, clients, strict=True):
            compare_with_raw(bench, layout, each)


def compare_with_raw(
    bench: Bench, layout: layouts.ParameterLayout, clients: Sequence[courier.Client]
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

    where = f"{layout.names[0]}, {len(clients)} shards"
    bench.compare(
        f"courier, pull, {where}", store.pull, raw_pull, "raw bytes", at_least=0.85
    )
    bench.compare(
        f"courier, push, {where}",
        lambda: store.push(gradient, versions, 1),
        raw_push,
        "raw bytes",
        at_least=0.85,
    )


def main() -> None:
    """Prints all."""
    bench = Bench(measuring.parse_options(__doc__, rounds=5))
    bench_update_rules(bench)
    bench_shared_memory(bench)
    bench_snapshots(bench)
    bench_store(bench)
    bench.report.write()


if __name__ == "__main__":
    main()
