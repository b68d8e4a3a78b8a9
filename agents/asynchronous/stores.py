"""Opens the parameter store that the settings ask for, in each node that needs it.

No TensorFlow here: the coordinator opens one, too.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from agents import optimisation, run_nodes
from agents.asynchronous.config import AsyncConfig
from rlcomponents import core
from rlcomponents.nodes import program_checkpoints
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    local_store,
    private_statistics_store,
    saved_states,
    shard,
    sharded_client,
    shared_memory,
    shared_memory_store,
    shared_parameters,
    update_rules,
)


class ThreadStore:
    """Holds the one `LocalStore` of a program whose nodes are threads. Thread-safe."""

    def __init__(self) -> None:
        """Starts without a store: the network is not known yet."""
        self._lock = threading.Lock()
        self._store: local_store.LocalStore | None = None

    def get(
        self, make: Callable[[], local_store.LocalStore] | None = None
    ) -> local_store.LocalStore | None:
        """Returns the store; where there is none, makes it, if told how."""
        with self._lock:
            if self._store is None and make is not None:
                self._store = make()
            return self._store

    def statistics(self) -> core.StoreStatistics:
        """Returns the store's counts; zeros before there is one."""
        store = self.get()
        if store is None:
            return saved_states.ShardStatistics().as_store()
        return store.statistics()

    def save(self) -> dict[str, Any]:
        """See `LocalStore`; as of an empty one before there is one."""
        store = self.get()
        if store is None:
            return {"epoch": 0, **saved_states.ShardStatistics()._asdict()}
        return store.save()

    def __reduce__(self) -> Any:
        raise TypeError("A local store cannot leave its process: use local_mt.")


Place = ThreadStore | shared_memory.SharedMemory | Sequence[Any]
"""Where the store is: for threads, in memory, or behind clients of its shards."""


def open_store(
    config: AsyncConfig, layout: layouts.ParameterLayout, place: Place
) -> core.ParameterStore:
    """Opens the store for a worker or an evaluator.

    Args:
        config: Of the run.
        layout: Of the network.
        place: Where it is.
    """
    clips_here = config.optimiser_statistics == "shared"
    norm = config.max_gradient_norm if clips_here else None
    store: core.ParameterStore
    if isinstance(place, ThreadStore):
        found = place.get(
            lambda: local_store.LocalStore(
                layout,
                _shared_rule(config),
                optimisation.make_learning_rate(config),
                max_staleness_updates=None,
                target_period_updates=None,
                target_period_steps=config.target_copy_period_steps,
                max_gradient_norm=norm,
            )
        )
        assert found is not None
        store = found
    elif isinstance(place, shared_memory.SharedMemory):
        store = shared_memory_store.SharedMemoryStore(
            layout,
            place.open(),
            _shared_rule(config),
            optimisation.make_learning_rate(config),
            max_staleness_updates=None,
            target_period_updates=None,
            target_period_steps=config.target_copy_period_steps,
            max_gradient_norm=norm,
        )
    else:
        store = sharded_client.ShardedClient(
            layout,
            place,
            max_gradient_norm=norm,
            call_timeout_secs=config.parameter_timeout_secs,
        )
    if clips_here:
        return store
    return private_statistics_store.PrivateStatisticsStore(
        store,
        layout,
        optimisation.make_update_rule(config),
        max_gradient_norm=config.max_gradient_norm,
    )


def make_parameter_shard(config: AsyncConfig) -> shard.ParameterShard:
    """Builds one shard of the `server` store."""
    return shard.ParameterShard(
        _shared_rule(config),
        optimisation.make_learning_rate(config),
        max_staleness_updates=None,
        target_period_updates=None,
        target_period_steps=config.target_copy_period_steps,
    )


def open_for_coordinator(
    place: Place,
) -> tuple[Callable[[], core.StoreStatistics], Sequence[program_checkpoints.Shard]]:
    """Returns the store's counts, and what the coordinator saves."""
    if isinstance(place, ThreadStore):
        return place.statistics, [place]
    if isinstance(place, shared_memory.SharedMemory):
        parameters = shared_parameters.SharedParameters(place.open())
        return parameters.statistics, [parameters]
    remote = [run_nodes.RemoteShard(client) for client in place]
    return remote[0].statistics, remote


def _shared_rule(config: AsyncConfig) -> update_rules.UpdateRule:
    """Returns the rule in the store; with private statistics it only takes steps."""
    if config.optimiser_statistics == "private":
        return update_rules.SGD()
    return optimisation.make_update_rule(config)
