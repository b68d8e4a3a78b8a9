"""The graphs of the two agents, for each kind of parameter store."""

import pickle
import subprocess
import sys

import pytest

from agents.a3c import config as a3c_config
from agents.a3c import program as a3c_program
from agents.async_q import config as async_q_config
from agents.async_q import program as async_q_program
from agents.asynchronous import stores
from rlcomponents.launching import graph
from rlcomponents.parameters import shared_memory

AGENTS = {
    "a3c": (a3c_config.A3CConfig, a3c_program.build_program),
    "async_q": (async_q_config.AsyncQConfig, async_q_program.build_program),
}
pytestmark = pytest.mark.parametrize("agent", AGENTS)


def build(agent, **settings):
    config_class, build_program = AGENTS[agent]
    config = config_class(environment="catch", **settings)
    return build_program(config, "somewhere"), config


def sizes(built):
    return {name: len(nodes) for name, nodes in built.groups.items()}


def places(built):
    """Returns where each node has its store."""
    kinds = (stores.ThreadStore, shared_memory.SharedMemory)
    return [
        [argument for argument in node._args if isinstance(argument, kinds)]
        for node in built.get_all_nodes()
    ]


@pytest.mark.parametrize("kind", ["auto", "shared_memory", "local"])
def test_stores_of_one_host_need_no_node(agent, kind):
    built, _ = build(agent, num_workers=3, parameter_store=kind)
    assert built.name == agent
    assert sizes(built) == {"worker": 3, "evaluator": 1, "coordinator": 1}
    assert not any(graph.calls(built).values())


@pytest.mark.parametrize(
    ("kind", "place"),
    [("auto", shared_memory.SharedMemory), ("local", stores.ThreadStore)],
)
def test_all_nodes_have_one_store(agent, kind, place):
    built, _ = build(agent, num_workers=2, parameter_store=kind)
    found = places(built)
    assert [len(each) for each in found] == [1, 1, 1, 1]
    assert {type(each[0]) for each in found} == {place}
    assert len({id(each[0]) for each in found}) == 1


def test_each_program_has_memory_of_its_own(agent):
    first, second = (places(build(agent)[0])[0][0] for _ in range(2))
    assert pickle.dumps(first) != pickle.dumps(second)


def test_a_server_is_parameter_shards_that_all_nodes_call(agent):
    built, _ = build(
        agent, num_workers=3, parameter_store="server", num_parameter_shards=4
    )
    assert sizes(built) == {
        "parameters": 4,
        "worker": 3,
        "evaluator": 1,
        "coordinator": 1,
    }
    shards = [f"parameters/{index}" for index in range(4)]
    calls = graph.calls(built)
    for name in ("worker/2", "evaluator/0", "coordinator/0"):
        assert calls[name] == shards


@pytest.mark.parametrize("kind", ["auto", "server", "local"])
def test_each_node_gets_the_settings(agent, kind):
    built, config = build(agent, seed=7, num_workers=3, parameter_store=kind)
    for node in built.get_all_nodes():
        assert config in node._args
    indices = [node._args[2] for node in built.groups["worker"]]
    assert indices == [0, 1, 2]


@pytest.mark.parametrize("kind", ["auto", "server"])
def test_building_it_loads_no_tensorflow(agent, kind):
    config_class, _ = AGENTS[agent]
    code = (
        f"import sys; from agents.{agent} import config, program; "
        f"settings = config.{config_class.__name__}(parameter_store={kind!r}); "
        "program.build_program(settings, 'somewhere'); "
        "print(sorted({'tensorflow', 'reverb', 'sonnet', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
