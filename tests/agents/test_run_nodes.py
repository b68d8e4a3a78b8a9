"""Tests of agents.run_nodes."""

import csv

import numpy as np
from acme import core as acme_core

from agents import run_config, run_nodes
from rlcomponents import core, schedules, seeding
from rlcomponents.environments import registry
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.runs import checkpoints, run_folder, summary
from rlcomponents.testing import fakes


class Still(acme_core.Actor):
    """Stays where it is."""

    def select_action(self, observation):
        return np.int32(1)

    def observe_first(self, timestep):
        pass

    def observe(self, action, next_timestep):
        pass

    def update(self, wait=False):
        pass


def make_config(**settings):
    return run_config.RunConfig(
        **{
            "environment": "catch",
            "max_steps": 10,
            "final_evaluation_episodes": 3,
            **settings,
        }
    )


def test_the_evaluation_environment_has_a_seed_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(registry, "make_factory", lambda *_, **__: seeds.append)
    run_nodes.make_evaluation_environment(make_config(seed=7))
    assert seeds == [seeding.derive(7, "evaluation environment")]


def test_the_evaluator_writes_into_the_run_folder(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    config = make_config()
    snapshot = core.Snapshot(np.zeros(1, np.float32), (core.Version(0, 4),), 10)
    evaluator = run_nodes.make_evaluator(
        config,
        str(folder.path),
        lambda: snapshot,
        run_nodes.make_evaluation_environment(config),
        Still(),
        fakes.StopAfter(100),
    )
    evaluator.run()  # The steps are taken: once, and that was all.
    with folder.evaluation_csv.open() as file:
        [row] = csv.DictReader(file)
    found = [row[name] for name in ("agent_steps", "updates", "episodes", "final")]
    assert found == ["10", "4", "3", "1"]


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
