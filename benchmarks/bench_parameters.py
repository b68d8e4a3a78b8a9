"""Measures how fast parameters move: pulls and pushes a second, by size and shards.

    python benchmarks/bench_parameters.py         (about two minutes)

A worker pulls, and pushes a gradient: one pair. Vectors of float32, of the size of a
small dense network (0.1 MB) to one of 25 million parameters (100 MB); the networks of
2013 and of Nature have 2.7 and 6.8 MB.

**Shared memory**, one process, shared RMSProp, against memcpy of as many bytes. A copy
reads and writes each byte: 2 for each byte of the vector. A pull is one copy; a push
reads the gradient, and reads and writes parameters and statistics, 5 bytes. So one pair
moves what 3.5 copies do. The pull is set against a copy by itself, too, both into
memory of their own, as a snapshot must be.

**Servers**, 1 to 8 shards, each a process, AdaGrad, against courier calls that carry
the same bytes in as many parts and do nothing with them. Beyond those a pair checks the
gradient, cuts it, applies it, and puts a snapshot together.

All processes have one thread and keep the memory of messages, as nodes do.
"""

import functools
import os
from collections.abc import Sequence

from rlcomponents.launching import placement

# Before NumPy is loaded.
os.environ.update(placement.variables(["bundle"])["bundle"])

import courier
import measuring
import numpy as np
import shard_servers

from rlcomponents import schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    sharded_client,
    shared_memory,
    shared_memory_store,
    update_rules,
)

NUM_PARAMETERS = {
    "0.1 MB": 25_000,
    "1 MB": 250_000,
    "10 MB": 2_500_000,
    "100 MB": 25_000_000,
}
NUM_SHARDS = (1, 2, 4, 8)
COPIES_PER_PAIR = 3.5
ROUND_BYTES = 100_000_000  # What the pairs of a round move, about: 1 to 30 of them.


def main() -> None:
    """Prints pairs a second, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=5)
    measuring.start_as_a_node()
    report = measuring.Report("parameters", options)
    sizes = list(NUM_PARAMETERS.items())[: 2 if options.quick else None]
    print("In shared memory, against memcpy")
    for name, size in sizes:
        _report_shared_memory(report, options.rounds, name, size)
    print("On servers, against raw bytes over courier")
    cuts = [
        (_layout(name, size), num_shards)
        for name, size in sizes
        for num_shards in NUM_SHARDS
    ]
    with shard_servers.served(cuts) as clients:
        for (layout, _), each in zip(cuts, clients, strict=True):
            _report_servers(report, options.rounds, layout, each)
    report.write()


def _report_shared_memory(
    report: measuring.Report, rounds: int, name: str, size: int
) -> None:
    """Reports pairs a second of one size, and the ratios to memcpy."""
    store = shared_memory_store.SharedMemoryStore(
        _layout(name, size),
        shared_memory.SharedMemory.create().open(),
        update_rules.RMSProp(),
        schedules.Linear(7e-4, 0.0, 80_000_000),
        max_staleness_updates=None,
        target_period_updates=None,
        target_period_steps=10_000,
    )
    parameters, gradient = np.random.default_rng(0).normal(size=(2, size))
    gradient = gradient.astype(np.float32)
    store.initialise(parameters.astype(np.float32))
    pull_and_push = functools.partial(_pull_and_push, store, gradient)
    secs = _interleave(
        {"pair": pull_and_push, "pull": store.pull, "copy": gradient.copy}, size, rounds
    )
    copies = [COPIES_PER_PAIR * each for each in secs["copy"]]
    report.number(
        f"shared memory, {name}", [1.0 / each for each in secs["pair"]], "pairs/s"
    )
    report.ratio(
        f"shared memory, {name}: pull / memcpy",
        measuring.ratios(secs["copy"], secs["pull"]),
        at_least=0.6,
    )
    report.ratio(
        f"shared memory, {name}: pull and push / memcpy of as many bytes",
        measuring.ratios(copies, secs["pair"]),
        at_least=0.6,
    )


def _report_servers(
    report: measuring.Report,
    rounds: int,
    layout: layouts.ParameterLayout,
    clients: Sequence[courier.Client],
) -> None:
    """Reports pairs a second of one size and cut, and the ratio to raw bytes."""
    size, num_shards = layout.num_parameters, len(clients)
    store = sharded_client.ShardedClient(layout, clients, should_stop=lambda: False)
    store.initialise(np.zeros(size, np.float32))
    gradient = np.ones(size, np.float32)
    parts = [gradient[part].tobytes() for part in layout.shard_slices(num_shards)]

    def move_raw() -> None:
        for calls in (
            [client.futures.get() for client in clients],
            [
                client.futures.put(part)
                for client, part in zip(clients, parts, strict=True)
            ],
        ):
            for call in calls:
                call.result()

    pull_and_push = functools.partial(_pull_and_push, store, gradient)
    secs = _interleave({"pair": pull_and_push, "raw": move_raw}, size, rounds)
    shards = f"{num_shards} shard{'s' * (num_shards > 1)}"
    name = f"servers, {layout.names[0]}, {shards}"
    report.number(name, [1.0 / each for each in secs["pair"]], "pairs/s")
    report.ratio(
        f"{name} / raw bytes",
        measuring.ratios(secs["raw"], secs["pair"]),
        at_least=0.85,
    )


def _interleave(
    calls: dict[str, measuring.Call], size: int, rounds: int
) -> dict[str, list[float]]:
    """Returns the seconds of each call in each round: those of its fastest time."""
    repeats = min(30, max(3, ROUND_BYTES // (8 * size)))
    return measuring.interleave(
        {
            name: functools.partial(measuring.fastest_wall_secs, call, repeats=repeats)
            for name, call in calls.items()
        },
        rounds,
    )


def _pull_and_push(
    store: shared_memory_store.SharedMemoryStore | sharded_client.ShardedClient,
    gradient: np.ndarray,
) -> None:
    store.push(gradient, store.pull().versions, 5)


def _layout(name: str, size: int) -> layouts.ParameterLayout:
    return layouts.ParameterLayout([name], [[size]])


if __name__ == "__main__":
    main()
