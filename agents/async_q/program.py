"""The graph of the value methods; `agents/asynchronous/program.py` has its nodes."""

import launchpad as lp

from agents.async_q.config import AsyncQConfig
from agents.asynchronous import program
from rlcomponents.nodes import lazy


def build_program(config: AsyncQConfig, run_dir: str) -> lp.Program:
    """Declares workers, their store, evaluator and coordinator.

    Args:
        config: Of the run.
        run_dir: The run's folder, which exists.
    """
    return program.build_program(
        "async_q",
        config,
        run_dir,
        make_strategy=lazy.Constructor("agents.async_q.parts", "make_strategy"),
        make_player=lazy.Constructor("agents.async_q.parts", "make_player"),
    )
