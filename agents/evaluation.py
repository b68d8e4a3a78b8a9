"""Builds the evaluator of any agent, from what plays and what holds the parameters."""

from agents import run_nodes, saved_policy
from agents.run_config import RunConfig
from rlcomponents import core, specs
from rlcomponents.actors import store_sync
from rlcomponents.nodes import evaluator as evaluators


def make_evaluator(
    config: RunConfig,
    run_dir: str,
    make_player: saved_policy.PlayerMaker,
    make_store: run_nodes.StoreMaker,
    wait_for_stop: core.WaitForStop,
) -> evaluators.Evaluator:
    """Builds the evaluator, with a network and an environment of its own.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        make_player: Builds the network and what plays with it.
        make_store: Opens the store for that network.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
    """
    environment = run_nodes.make_evaluation_environment(config)
    player = make_player(config, specs.make_environment_spec(environment))
    sync = store_sync.StoreSync(
        make_store(player.variables.layout), player.variables, period_steps=1
    )
    return run_nodes.make_evaluator(
        config, run_dir, sync.pull, environment, player.actor, wait_for_stop
    )
