"""What runs inside the nodes of an asynchronous method that need no TensorFlow."""

from collections.abc import Callable

from agents import run_nodes
from agents.asynchronous import stores
from agents.asynchronous.config import AsyncConfig
from rlcomponents import core
from rlcomponents.nodes import coordinator


def make_coordinator(
    config: AsyncConfig,
    run_dir: str,
    agent: str,
    place: stores.Place,
    stop_program: Callable[[], None],
    wait_for_stop: core.WaitForStop,
) -> coordinator.Coordinator:
    """Builds the coordinator."""
    statistics, shards = stores.open_for_coordinator(config, place, wait_for_stop)
    return run_nodes.make_coordinator(
        config, run_dir, agent, statistics, shards, stop_program, wait_for_stop
    )
