"""Tests of agents.run_nodes."""

import numpy as np

from agents import run_config, run_nodes
from rlcomponents import schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.runs import checkpoints, run_folder, summary
from rlcomponents.testing import fakes


def make_config(**settings):
    return run_config.RunConfig(
        **{
            "environment": "catch",
            "max_steps": 10,
            "final_evaluation_episodes": 3,
            **settings,
        }
    )


def test_the_coordinator_watches_saves_and_sums_up(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    store = local_store.LocalStore(
        layouts.ParameterLayout(["w"], [(2,)]),
        update_rules.SGD(),
        schedules.Constant(1.0),
        max_staleness_updates=None,
        target_period_updates=None,
    )
    store.initialise(np.zeros(2, np.float32))
    store.push(np.ones(2, np.float32), store.pull().versions, 4)
    coordinator = run_nodes.make_coordinator(
        make_config(),
        str(folder.path),
        "some_agent",
        store.statistics,
        [store],
        lambda: None,
        fakes.StopAfter(1),
    )
    coordinator.run()
    result = summary.read(folder.summary_json)
    assert (result.agent, result.environment) == ("some_agent", "catch")
    assert (result.reason, result.agent_steps, result.updates) == ("stopped", 4, 1)
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["agent"] == "some_agent"
