"""The graph of Gorila DQN, in its two modes (Nair et al. 2015, figure 2)."""

import functools
from collections.abc import Sequence

import launchpad as lp

from agents import parameter_shards
from agents.gorila_dqn import servers
from agents.gorila_dqn.config import GorilaConfig
from rlcomponents.nodes import lazy, replay_node, stopping
from rlcomponents.runs import run_folder

_NODES = "agents.gorila_dqn.nodes"


def build_program(config: GorilaConfig, run_dir: str) -> lp.Program:
    """Declares who talks to whom; each component is built later, inside its node.

        bundled:  bundles (actor + replay + learner) --gradients--> parameters

        central:  actors --transitions--> replay --batches--> learners
                  learners --gradients--> parameters

        bundles, actors, learners, evaluator <----snapshots-------- parameters

    Args:
        config: Of the run.
        run_dir: The run's folder, which exists.
    """
    program = lp.Program("gorila_dqn")
    shards = parameter_shards.add_nodes(
        program, config, run_dir, servers.shard_settings
    )
    if config.mode == "bundled":
        _add_bundles(program, config, run_dir, shards)
    else:
        _add_actors_and_learners(program, config, run_dir, shards)
    with program.group("evaluator"):
        program.add_node(
            lp.PyClassNode(
                lazy.Constructor(_NODES, "make_evaluator"),
                config,
                run_dir,
                shards,
                stopping.wait_for_stop,
            )
        )
    with program.group("coordinator"):
        program.add_node(
            lp.PyClassNode(
                servers.make_coordinator,
                config,
                run_dir,
                shards,
                lp.stop,
                stopping.wait_for_stop,
            )
        )
    return program


def _add_bundles(
    program: lp.Program,
    config: GorilaConfig,
    run_dir: str,
    shards: Sequence[lp.CourierHandle],
) -> None:
    with program.group("bundle"):
        for index in range(config.num_bundles):
            program.add_node(
                lp.PyClassNode(
                    lazy.Constructor(_NODES, "make_bundle"),
                    config,
                    run_dir,
                    index,
                    shards,
                    stopping.wait_for_stop,
                )
            )


def _add_actors_and_learners(
    program: lp.Program,
    config: GorilaConfig,
    run_dir: str,
    shards: Sequence[lp.CourierHandle],
) -> None:
    with program.group("replay"):
        replays = [
            program.add_node(
                replay_node.ReplayNode(
                    functools.partial(
                        lazy.Constructor(_NODES, "make_replay_tables"), config
                    ),
                    folder=str(run_folder.RunFolder(run_dir).state / state),
                    save_period_secs=config.replay_checkpoint_period_secs,
                )
            )
            for state in config.replay_states
        ]
    with program.group("learner"):
        for index in range(config.num_learners):
            program.add_node(
                lp.PyClassNode(
                    lazy.Constructor(_NODES, "make_learner"),
                    config,
                    run_dir,
                    index,
                    replays,
                    shards,
                    stopping.wait_for_stop,
                )
            )
    with program.group("actor"):
        for index in range(config.num_actors):
            program.add_node(
                lp.PyClassNode(
                    lazy.Constructor(_NODES, "make_actor"),
                    config,
                    run_dir,
                    index,
                    replays[index % len(replays)],
                    shards,
                    stopping.wait_for_stop,
                )
            )
