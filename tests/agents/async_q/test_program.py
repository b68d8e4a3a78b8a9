"""Tests of agents.async_q.program; agents.asynchronous has more of its graph."""

from agents.async_q import config as async_q_config
from agents.async_q import program
from rlcomponents.nodes import lazy


def test_its_nodes_build_this_agents_strategy_and_player():
    config = async_q_config.AsyncQConfig(environment="catch", num_workers=3)
    built = program.build_program(config, "somewhere")
    assert built.name == "async_q"
    makers = [
        [each for each in node._args if isinstance(each, lazy.Constructor)]
        for group in ("worker", "evaluator")
        for node in built.groups[group]
    ]
    strategy = lazy.Constructor("agents.async_q.parts", "make_strategy")
    player = lazy.Constructor("agents.async_q.parts", "make_player")
    assert makers == [*[[strategy]] * 3, [player]]
