"""The nodes that hold a program's parameters, and how other nodes reach them.

No TensorFlow here: a shard's process and the coordinator do without.
"""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import launchpad as lp
import numpy as np

from rlcomponents import core
from rlcomponents.nodes import stopping
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    saved_states,
    shard_calls,
    sharded_client,
    snapshots,
    wire,
)
from rlcomponents.runs import run_folder


class ShardConfig(Protocol):
    """The settings of a run that are about its parameter shards.

    Attributes:
        num_parameter_shards: Parameter shards.
        parameter_timeout_secs: Longest wait for the answer to one call to a shard.
        snapshot_period_updates: Updates that a shard may lose when it dies.
    """

    @property
    def num_parameter_shards(self) -> int: ...  # noqa: D102

    @property
    def parameter_timeout_secs(self) -> float: ...  # noqa: D102

    @property
    def snapshot_period_updates(self) -> int: ...  # noqa: D102


MakeSettings = Callable[[Any], Mapping[str, Any]]
"""Returns the settings of `ParameterShard` that a config comes to."""


def snapshot_path(run_dir: str, index: int = 0) -> pathlib.Path:
    """Returns where the state of a shard lies, or (0) of a store in memory."""
    return run_folder.RunFolder(run_dir).state / f"parameters-{index}.npz"


def add_nodes(
    program: lp.Program, config: ShardConfig, run_dir: str, make_settings: MakeSettings
) -> list[lp.CourierHandle]:
    """Adds the group `parameters`.

    Args:
        program: Gets the nodes.
        config: Of the run.
        run_dir: Folder of the run.
        make_settings: A function of a module; called inside the nodes.

    Returns:
        A handle of each shard, in the order of the vector.
    """
    with program.group("parameters"):
        return [
            program.add_node(
                lp.CourierNode(
                    make_shard,
                    config,
                    run_dir,
                    index,
                    make_settings,
                    stopping.wait_for_stop,
                    courier_client_kwargs={
                        "call_timeout": config.parameter_timeout_secs,
                        # Else courier sends again what may have been carried out.
                        "wait_for_ready": False,
                    },
                )
            )
            for index in range(config.num_parameter_shards)
        ]


def make_shard(
    config: ShardConfig,
    run_dir: str,
    index: int,
    make_settings: MakeSettings,
    wait_for_stop: core.WaitForStop,
) -> snapshots.SavedShard:
    """Builds one shard; which slice it holds, its snapshot or the first client says.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        index: Of the shard.
        make_settings: See `add_nodes`.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
    """
    return snapshots.SavedShard(
        snapshot_path(run_dir, index),
        snapshot_period_updates=config.snapshot_period_updates,
        wait_for_stop=wait_for_stop,
        **make_settings(config),
    )


def open_store(
    config: ShardConfig,
    layout: layouts.ParameterLayout,
    clients: Sequence[shard_calls.ShardClient],
    wait_for_stop: core.WaitForStop,
    *,
    max_gradient_norm: float | None,
) -> sharded_client.ShardedClient:
    """Opens the store that all shards together are.

    Args:
        config: Of the run.
        layout: Of the network.
        clients: Of all shards, in order.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
        max_gradient_norm: See `ShardedStore`.
    """
    return sharded_client.ShardedClient(
        layout,
        clients,
        should_stop=lambda: wait_for_stop(0),
        max_gradient_norm=max_gradient_norm,
        call_timeout_secs=config.parameter_timeout_secs,
    )


class RemoteShard:
    """A parameter shard as the coordinator counts by it and saves it.

    Waits for a shard that is away; see `shard_calls.ShardCalls.until_answered`.
    """

    def __init__(self, calls: shard_calls.ShardCalls, index: int) -> None:
        """Stores its parts.

        Args:
            calls: To all shards.
            index: Of this one.
        """
        self._calls = calls
        self._index = index

    def statistics(self) -> core.StoreStatistics:
        """Returns the store's counts, as of this shard."""
        fields = wire.read_reply(self._call("statistics"))
        return saved_states.ShardStatistics(*fields).as_store()

    def save(self) -> dict[str, np.ndarray | int]:
        """See `ParameterShard`."""
        return self._call("save")

    def _call(self, method: str) -> Any:
        return self._calls.until_answered(method, {self._index: ()})[self._index]


def reach(
    config: ShardConfig,
    clients: Sequence[shard_calls.ShardClient],
    wait_for_stop: core.WaitForStop,
) -> list[RemoteShard]:
    """Returns the shards as the coordinator needs them; see `open_store`."""
    calls = shard_calls.ShardCalls(
        clients,
        call_timeout_secs=config.parameter_timeout_secs,
        should_stop=lambda: wait_for_stop(0),
    )
    return [RemoteShard(calls, index) for index in range(len(clients))]
