"""Tests of agents.a3c.program; agents.asynchronous has more of its graph."""

from agents.a3c import config as a3c_config
from agents.a3c import program
from rlcomponents.nodes import lazy


def test_its_nodes_build_this_agents_strategy_and_player():
    config = a3c_config.A3CConfig(environment="catch", num_workers=3)
    built = program.build_program(config, "somewhere")
    assert built.name == "a3c"
    makers = [
        [each for each in node._args if isinstance(each, lazy.Constructor)]
        for group in ("worker", "evaluator")
        for node in built.groups[group]
    ]
    strategy = lazy.Constructor("agents.a3c.strategy", "make_strategy")
    player = lazy.Constructor("agents.a3c.strategy", "make_player")
    assert makers == [*[[strategy]] * 3, [player]]
