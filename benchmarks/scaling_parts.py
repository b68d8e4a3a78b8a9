"""What a bundle and a call to a shard cost when nothing else is there.

A program's processes say how much CPU time they took in all; which part of it is
acting, gradient or communication, and how communication depends on size, is measured
here. In one thread; import it before TensorFlow.
"""

import multiprocessing
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlcomponents.launching import node_rows, placement

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.update(placement.variables(["bundle"])["bundle"])

import courier
import numpy as np
import shard_servers

from agents import optimisation, run_config
from agents.dqn import parts
from agents.gorila_dqn import config as gorila_config
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, sharded_client
from rlcomponents.runs import run_folder

PART_BYTES = (10_000, 100_000, 250_000, 1_000_000, 3_400_000, 6_800_000)
_WARM_CYCLES = 10


def measure_bundle(
    flags: Mapping[str, Any], folder: pathlib.Path, secs: float
) -> dict[str, float]:
    """Measures a bundle whose store is in its own process.

    Args:
        flags: Settings of `launch/gorila_dqn.py`.
        folder: Does not exist; the bundle writes there.
        secs: To learn for.

    Returns:
        CPU seconds of an agent step (`acting_secs`), of a gradient without any store
        (`gradient_secs`), and the variation of both together over a cycle.
    """
    config = run_config.make_config(gorila_config.GorilaConfig, flags)
    run_folder.RunFolder.create(folder)
    bundle = parts.make_bundle(
        config,
        str(folder),
        lambda layout: local_store.LocalStore(
            layout,
            optimisation.make_update_rule(config),
            optimisation.make_learning_rate(config),
            max_staleness_updates=None,
            target_period_updates=config.target_period_updates,
        ),
        lambda secs: False,
        name="bundle-0",
    )
    num_steps = config.steps_per_update
    num_filling = config.replay_limits().min_items // num_steps - 1
    filling = [_cycle_secs(bundle, num_steps) for _ in range(num_filling)]
    while not bundle.store.statistics().updates:
        bundle.step()
    for _ in range(_WARM_CYCLES):
        _cycle_secs(bundle, num_steps)
    learning: list[float] = []
    end_secs = time.monotonic() + secs
    while time.monotonic() < end_secs:
        learning.append(_cycle_secs(bundle, num_steps))
    store_secs = _store_secs(bundle)
    bundle.close()
    acting_secs = statistics.mean(filling[len(filling) // 2 :])
    cycle_secs = statistics.mean(learning)
    return {
        "num_parameters": bundle.store.layout.num_parameters,
        "agent_steps": num_steps,
        "acting_secs": acting_secs / num_steps,
        "gradient_secs": cycle_secs - acting_secs - store_secs,
        "variation": statistics.stdev(learning) / cycle_secs,
    }


def measure_calls(secs: float) -> list[dict[str, float]]:
    """Measures pulls and pushes of one shard, at both ends, for several sizes.

    Args:
        secs: For each size and kind of call.

    Returns:
        For each size, CPU seconds of a pull after an update and of a push with its
        update, at the worker and at the shard, and how long each took.
    """
    cuts = [(layouts.ParameterLayout(["all"], [[size // 4]]), 1) for size in PART_BYTES]
    with shard_servers.served(cuts) as clients:
        (process,) = multiprocessing.active_children()
        assert process.pid is not None
        return [
            _measure_shard(layout, each, process.pid, secs)
            for (layout, _), each in zip(cuts, clients, strict=True)
        ]


def _measure_shard(
    layout: layouts.ParameterLayout,
    clients: Sequence[courier.Client],
    pid: int,
    secs: float,
) -> dict[str, float]:
    store = sharded_client.ShardedClient(layout, clients, should_stop=lambda: False)
    store.initialise(np.zeros(layout.num_parameters, np.float32))
    gradient = np.full(layout.num_parameters, 1e-3, np.float32)
    versions = store.pull().versions

    def push() -> None:
        store.push(gradient, versions, 1)

    def push_and_pull() -> None:
        push()
        store.pull()

    pushes = _call_secs(push, pid, secs)
    # The first pull after an update makes a copy; with others there always was one.
    pairs = _call_secs(push_and_pull, pid, 2 * secs)
    row: dict[str, float] = {"part_bytes": 4 * layout.num_parameters}
    for name, value in pushes.items():
        row |= {f"push_{name}": value, f"pull_{name}": pairs[name] - value}
    return row


def _cycle_secs(bundle: parts.Bundle, num_steps: int) -> float:
    start_secs = time.process_time()
    for _ in range(num_steps):
        bundle.step()
    return time.process_time() - start_secs


def _store_secs(bundle: parts.Bundle, repeats: int = 50) -> float:
    """Returns the CPU time of a pull and a push of the store in this process."""
    gradient = np.zeros(bundle.store.layout.num_parameters, np.float32)
    start_secs = time.process_time()
    for _ in range(repeats):
        versions = bundle.store.pull().versions
        bundle.store.push(gradient, versions, 0)
    return (time.process_time() - start_secs) / repeats


def _call_secs(call: Callable[[], None], pid: int, secs: float) -> dict[str, float]:
    """Returns the mean time of a call: of the clock, and CPU time of both ends."""
    call()
    start_secs, own_secs = time.monotonic(), time.process_time()
    shard_secs = node_rows.usage_of(pid).cpu_secs
    num_calls = 0
    while time.monotonic() < start_secs + secs:
        call()
        num_calls += 1
    return {
        "wall_secs": (time.monotonic() - start_secs) / num_calls,
        "worker_secs": (time.process_time() - own_secs) / num_calls,
        "shard_secs": (node_rows.usage_of(pid).cpu_secs - shard_secs) / num_calls,
    }
