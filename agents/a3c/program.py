"""The graph of A3C; `agents/asynchronous/program.py` has its nodes."""

import launchpad as lp

from agents.a3c.config import A3CConfig
from agents.asynchronous import program
from rlcomponents.nodes import lazy


def build_program(config: A3CConfig, run_dir: str) -> lp.Program:
    """Declares workers, their store, evaluator and coordinator.

    Args:
        config: Of the run.
        run_dir: The run's folder, which exists.
    """
    return program.build_program(
        "a3c",
        config,
        run_dir,
        make_strategy=lazy.Constructor("agents.a3c.strategy", "make_strategy"),
        make_player=lazy.Constructor("agents.a3c.strategy", "make_player"),
    )
