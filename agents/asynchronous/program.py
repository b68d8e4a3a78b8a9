"""The graph of an asynchronous method: workers around one parameter store."""

from collections.abc import Callable
from typing import Any

import launchpad as lp

from agents import parameter_shards
from agents.asynchronous import nodes, stores
from agents.asynchronous.config import AsyncConfig
from rlcomponents.nodes import lazy, stopping
from rlcomponents.parameters import shared_memory

_TF_NODES = "agents.asynchronous.tf_nodes"


def build_program(
    name: str,
    config: AsyncConfig,
    run_dir: str,
    *,
    make_strategy: Callable[..., Any],
    make_player: Callable[..., Any],
) -> lp.Program:
    """Declares who talks to whom; each component is built later, inside its node.

        workers --gradients--> parameters --snapshots--> workers, evaluator

    The parameters are in shared memory, in parameter shards, or, for threads, in an
    object that they share.

    Args:
        name: Of the agent.
        config: Of the run.
        run_dir: The run's folder, which exists.
        make_strategy: Builds a worker's strategy; see `tf_nodes.make_worker`.
        make_player: Builds what the evaluator plays with.
    """
    program = lp.Program(name)
    place: Any
    if config.store_kind == "server":
        place = parameter_shards.add_nodes(
            program, config, run_dir, stores.shard_settings
        )
    elif config.store_kind == "local":
        place = stores.ThreadStore()
    else:
        place = shared_memory.SharedMemory.create()
    with program.group("worker"):
        for index in range(config.num_workers):
            program.add_node(
                lp.PyClassNode(
                    lazy.Constructor(_TF_NODES, "make_worker"),
                    config,
                    run_dir,
                    index,
                    place,
                    make_strategy,
                    stopping.wait_for_stop,
                )
            )
    with program.group("evaluator"):
        program.add_node(
            lp.PyClassNode(
                lazy.Constructor(_TF_NODES, "make_evaluator"),
                config,
                run_dir,
                place,
                make_player,
                stopping.wait_for_stop,
            )
        )
    with program.group("coordinator"):
        program.add_node(
            lp.PyClassNode(
                nodes.make_coordinator,
                config,
                run_dir,
                name,
                place,
                lp.stop,
                stopping.wait_for_stop,
            )
        )
    return program
