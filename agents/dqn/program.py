"""DQN as a program of one node: launched, watched and ended like any other."""

import launchpad as lp

from agents.dqn.config import DQNConfig
from rlcomponents.nodes import lazy, stopping


def build_program(config: DQNConfig, run_dir: str) -> lp.Program:
    """Declares the one node: actor, replay, learner, store, evaluator, coordinator.

    Args:
        config: Of the run.
        run_dir: The run's folder, which exists.
    """
    program = lp.Program("dqn")
    with program.group("dqn"):
        program.add_node(
            lp.PyClassNode(
                lazy.Constructor("agents.dqn.nodes", "make_agent"),
                config,
                run_dir,
                lp.stop,
                stopping.wait_for_stop,
            )
        )
    return program
