import dataclasses
import subprocess
import sys

import pytest

from agents.gorila_dqn import config as gorila_config
from agents.gorila_dqn import program
from rlcomponents.launching import graph, placement


def build(**settings):
    config = gorila_config.GorilaConfig(environment="catch", **settings)
    return program.build_program(config, "somewhere"), config


def sizes(built):
    return {name: len(nodes) for name, nodes in built.groups.items()}


def test_bundled_mode_has_bundles_around_the_parameters():
    built, _ = build(mode="bundled", num_bundles=3, num_parameter_shards=4)
    assert sizes(built) == {
        "parameters": 4,
        "bundle": 3,
        "evaluator": 1,
        "coordinator": 1,
    }
    shards = [f"parameters/{index}" for index in range(4)]
    calls = graph.calls(built)
    assert calls["bundle/2"] == calls["evaluator/0"] == calls["coordinator/0"] == shards


@pytest.mark.parametrize(
    ("mode", "learning"), [("bundled", "bundle"), ("central", "learner")]
)
def test_gpus_belong_to_the_nodes_that_learn(monkeypatch, mode, learning):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    built, _ = build(mode=mode)
    found = placement.variables(built.groups)
    seeing = {role for role in found if found[role].get("CUDA_VISIBLE_DEVICES") != ""}
    assert seeing == {learning}


def test_central_mode_has_each_role_in_nodes_of_its_own():
    built, _ = build(
        mode="central",
        num_actors=5,
        num_learners=2,
        num_replay_shards=2,
        num_parameter_shards=3,
    )
    assert sizes(built) == {
        "parameters": 3,
        "replay": 2,
        "learner": 2,
        "actor": 5,
        "evaluator": 1,
        "coordinator": 1,
    }
    shards = [f"parameters/{index}" for index in range(3)]
    calls = graph.calls(built)
    assert calls["learner/1"] == ["replay/0", "replay/1", *shards]
    assert [calls[f"actor/{index}"][0] for index in range(5)] == [
        "replay/0",
        "replay/1",
        "replay/0",
        "replay/1",
        "replay/0",
    ]
    assert calls["actor/4"][1:] == shards


@pytest.mark.parametrize("mode", gorila_config.MODES)
def test_each_node_gets_the_settings(mode):
    built, config = build(mode=mode, seed=7, num_actors=3)
    for name, node in graph.named_nodes(built):
        if name.startswith("replay"):
            assert node.make_tables.args == (config,)
        else:
            assert config in node._args
    assert dataclasses.asdict(config)["seed"] == 7


@pytest.mark.parametrize("mode", gorila_config.MODES)
def test_building_it_loads_no_tensorflow(mode):
    code = (
        "import sys; from agents.gorila_dqn import config, program; "
        "built = program.build_program("
        f"config.GorilaConfig(mode={mode!r}), 'somewhere'); "
        "print({name: len(nodes) for name, nodes in built.groups.items()}); "
        "print(sorted({'tensorflow', 'reverb', 'sonnet', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    counts, loaded = done.stdout.splitlines()
    assert ("bundle" if mode == "bundled" else "learner") in counts
    assert loaded == "[]"
