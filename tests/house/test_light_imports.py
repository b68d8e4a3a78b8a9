"""Parts that have to start fast, or without the heavy packages, do."""

import json
import subprocess
import sys

import pytest

# Losses and what is around them are useful to people who run nothing distributed.
PURE = (
    "rlcomponents.core",
    "rlcomponents.environments.catch",
    "rlcomponents.environments.registry",
    "rlcomponents.environments.wrappers",
    "rlcomponents.exploration",
    "rlcomponents.losses.actor_critic",
    "rlcomponents.losses.outliers",
    "rlcomponents.losses.value_learning",
    "rlcomponents.networks.actor_critic",
    "rlcomponents.networks.q_network",
    "rlcomponents.parameters.local_store",
    "rlcomponents.parameters.tf_variables",
    "rlcomponents.returns",
    "rlcomponents.schedules",
    "rlcomponents.specs",
)
DISTRIBUTED = ("ale_py", "courier", "launchpad", "reverb")

# A program has one launcher, one coordinator and several shards: seconds and hundreds
# of megabytes each, if they loaded a deep-learning framework.
LAUNCHER = (
    "agents.a3c.program",
    "agents.async_q.program",
    "agents.asynchronous.program",
    "agents.gorila_dqn.config",
    "agents.gorila_dqn.program",
    "launch.a3c",
    "launch.async_q",
    "launch.demo",
    "launch.dqn",
    "launch.evaluate",
    "launch.gorila_dqn",
    "launch.record_starts",
    "rlcomponents.core",
    "rlcomponents.environments.registry",
    "rlcomponents.launching.launcher",
    "rlcomponents.nodes.coordinator",
    "rlcomponents.parameters.layout",
    "rlcomponents.parameters.shard",
    "rlcomponents.parameters.sharded_client",
    "rlcomponents.replay.limits",
    "rlcomponents.runs.checkpoints",
    "rlcomponents.runs.events",
    "rlcomponents.runs.metrics",
    "rlcomponents.runs.progress",
    "rlcomponents.runs.run_folder",
    "rlcomponents.runs.summary",
    "rlcomponents.specs",
)
FRAMEWORKS = ("jax", "reverb", "sonnet", "tensorflow", "torch")

# What nodes load; only the launcher, which draws, pays for what lays a picture out.
NODES = (
    "agents.asynchronous.tf_nodes",
    "agents.dqn.nodes",
    "agents.gorila_dqn.nodes",
    "agents.gorila_dqn.servers",
    "rlcomponents.launching.node_process",
    "rlcomponents.nodes.coordinator",
)

# Imports the modules in turn where `blocked` packages are missing, and prints for each
# what went wrong or which of the `reported` packages it was the first to load.
PROBE = """
import importlib, importlib.abc, json, sys

modules, blocked, reported = json.loads(sys.argv[1])

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked by the test)")

sys.meta_path.insert(0, Missing())
answers, seen = {}, set()
for module in modules:
    try:
        importlib.import_module(module)
        loaded = {name for name in reported if name in sys.modules} - seen
        answers[module] = f"loads {sorted(loaded)}" if loaded else ""
        seen |= loaded
    except Exception as error:
        answers[module] = repr(error)
print(json.dumps(answers))
"""


def probe(modules=(), blocked=(), reported=()) -> dict[str, str]:
    """Imports in a fresh interpreter; returns the complaint for each module, or ""."""
    finished = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([modules, blocked, reported])],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def pure_complaints() -> dict[str, str]:
    return probe(PURE, blocked=DISTRIBUTED)


@pytest.fixture(scope="module")
def launcher_complaints() -> dict[str, str]:
    return probe(LAUNCHER, reported=FRAMEWORKS)


def test_nodes_do_not_load_what_draws_the_live_view():
    assert set(probe(NODES, reported=["rich"]).values()) == {""}
    assert probe(["rlcomponents.runs.progress"], reported=["rich"]) == {
        "rlcomponents.runs.progress": "loads ['rich']"
    }


@pytest.mark.parametrize("module", PURE)
def test_imports_where_distributed_packages_are_missing(module, pure_complaints):
    assert pure_complaints[module] == ""


@pytest.mark.parametrize("module", LAUNCHER)
def test_imports_without_loading_a_framework(module, launcher_complaints):
    assert launcher_complaints[module] == ""


def test_probe_sees_a_missing_package():
    complaint = probe(["launchpad"], blocked=DISTRIBUTED)["launchpad"]
    assert "blocked by the test" in complaint


def test_probe_sees_a_loaded_package():
    assert probe(["psutil"], reported=["psutil"])["psutil"] == "loads ['psutil']"
