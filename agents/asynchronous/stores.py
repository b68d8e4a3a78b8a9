"""Opens the parameter store that the settings ask for, in each node that needs it.

No TensorFlow here: the coordinator opens one, too.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from agents import optimisation, parameter_shards
from agents.asynchronous.config import AsyncConfig
from rlcomponents import core
from rlcomponents.nodes import program_checkpoints
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    local_store,
    private_statistics_store,
    saved_states,
    shared_memory,
    shared_memory_store,
    shared_parameters,
    snapshots,
    update_rules,
)
from rlcomponents.runs import node_state


class ThreadStore:
    """Holds the one `LocalStore` of a program whose nodes are threads. Thread-safe."""

    def __init__(self) -> None:
        """Starts without a store: the network is not known yet."""
        self._lock = threading.Lock()
        self._store: local_store.LocalStore | None = None

    def open(
        self, make: Callable[[], local_store.LocalStore]
    ) -> local_store.LocalStore:
        """Returns the store; where there is none yet, makes it."""
        with self._lock:
            if self._store is None:
                self._store = make()
            return self._store

    def statistics(self) -> core.StoreStatistics:
        """Returns the store's counts; zeros before there is one."""
        store = self._store
        if store is None:
            return saved_states.ShardStatistics().as_store()
        return store.statistics()

    def save(self) -> dict[str, Any]:
        """See `LocalStore`; as of an empty one before there is one."""
        store = self._store
        if store is None:
            return {"epoch": 0, **saved_states.ShardStatistics()._asdict()}
        return store.save()

    def __reduce__(self) -> Any:
        raise TypeError("A local store cannot leave its process: use local_mt.")


Place = ThreadStore | shared_memory.SharedMemory | Sequence[Any]
"""Where the store is: for threads, in memory, or behind clients of its shards."""


def open_store(
    config: AsyncConfig,
    run_dir: str,
    layout: layouts.ParameterLayout,
    place: Place,
    wait_for_stop: core.WaitForStop,
    *,
    state: node_state.NodeState | None = None,
) -> core.ParameterStore:
    """Opens the store for a worker or an evaluator.

    Where there are no parameters yet, but a snapshot, it begins with that.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        layout: Of the network.
        place: Where it is.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
        state: Keeps the worker's own statistics, where it has some. None: they begin
            anew; for an evaluator, which pushes nothing.
    """
    clips_here = config.optimiser_statistics == "shared"
    norm = config.max_gradient_norm if clips_here else None
    store: core.ParameterStore
    if isinstance(place, ThreadStore):
        store = place.open(lambda: _make_local_store(config, run_dir, layout, norm))
    elif isinstance(place, shared_memory.SharedMemory):
        store = shared_memory_store.SharedMemoryStore(
            layout, place.open(), max_gradient_norm=norm, **shard_settings(config)
        )
        snapshots.start_from(store, parameter_shards.snapshot_path(run_dir))
    else:
        store = parameter_shards.open_store(
            config, layout, place, wait_for_stop, max_gradient_norm=norm
        )
    if clips_here:
        return store
    private = private_statistics_store.PrivateStatisticsStore(
        store,
        layout,
        optimisation.make_update_rule(config),
        max_gradient_norm=config.max_gradient_norm,
    )
    if state is not None:
        state.keep_arrays(private)
    return private


def shard_settings(config: AsyncConfig) -> dict[str, Any]:
    """Returns the settings of each parameter shard, or of a store in memory."""
    rule: update_rules.UpdateRule
    if config.optimiser_statistics == "private":
        rule = update_rules.SGD()  # It only takes the steps that workers make.
    else:
        rule = optimisation.make_update_rule(config)
    return {
        "rule": rule,
        "learning_rate": optimisation.make_learning_rate(config),
        "max_staleness_updates": None,
        "target_period_updates": None,
        "target_period_steps": config.target_copy_period_steps,
    }


def open_for_coordinator(
    config: AsyncConfig, place: Place, wait_for_stop: core.WaitForStop
) -> tuple[Callable[[], core.StoreStatistics], Sequence[program_checkpoints.Shard]]:
    """Returns the store's counts, and what the coordinator saves."""
    if isinstance(place, ThreadStore):
        return place.statistics, [place]
    if isinstance(place, shared_memory.SharedMemory):
        parameters = shared_parameters.SharedParameters(place.open())
        return parameters.statistics, [parameters]
    remote = parameter_shards.reach(config, place, wait_for_stop)
    return remote[0].statistics, remote


def _make_local_store(
    config: AsyncConfig,
    run_dir: str,
    layout: layouts.ParameterLayout,
    max_gradient_norm: float | None,
) -> local_store.LocalStore:
    store = local_store.LocalStore(
        layout, max_gradient_norm=max_gradient_norm, **shard_settings(config)
    )
    snapshots.start_from(store, parameter_shards.snapshot_path(run_dir))
    return store
