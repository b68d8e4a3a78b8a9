"""Tests of the evaluator of any agent, on a real store and a real game."""

import threading

import numpy as np
import pytest

from agents import evaluation
from agents.a3c import config as a3c_config
from agents.a3c import strategy
from agents.dqn import config as dqn_config
from agents.dqn import parts
from rlcomponents import schedules, seeding
from rlcomponents.environments import registry
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.runs import checkpoints, metrics, run_folder

SETTINGS = {
    "environment": "catch",
    "max_steps": 100,
    "evaluation_period_steps": 10,
    "evaluation_episodes": 2,
    "final_evaluation_episodes": 3,
}


def stores():
    """Returns the list of the stores that are made, and what makes one."""
    opened = []

    def make_store(layout):
        opened.append(
            local_store.LocalStore(
                layout,
                update_rules.SGD(),
                schedules.Constant(1.0),
                max_staleness_updates=None,
                target_period_updates=None,
            )
        )
        return opened[-1]

    return opened, make_store


@pytest.mark.parametrize(
    ("config", "make_player"),
    [
        (dqn_config.DQNConfig(**SETTINGS), parts.make_player),
        (a3c_config.A3CConfig(**SETTINGS), strategy.make_player),
    ],
    ids=["dqn", "a3c"],
)
def test_it_plays_with_the_newest_parameters_and_keeps_the_best(
    tmp_path, config, make_player
):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    opened, make_store = stores()

    def make():
        return evaluation.make_evaluator(
            config, str(folder.path), make_player, make_store, threading.Event().wait
        )

    evaluator = make()
    [store] = opened
    assert not evaluator.step()  # Nothing is due before the first steps.
    store.add_steps(10)
    assert evaluator.step()
    first = store.pull()
    _, facts = checkpoints.load(checkpoints.latest(folder.best_checkpoint))
    assert facts["agent_steps"] == 10
    evaluator.close()

    # Started again, it repeats nothing.
    evaluator = make()
    store = opened[1]
    store.restore(opened[0].save())
    assert not evaluator.step()
    store.push(np.full_like(first.vector, 0.1), store.pull().versions, 90)
    assert evaluator.step()
    assert evaluator.finished
    evaluator.close()
    rows = metrics.MetricsFile(folder.evaluation_csv).read_new()
    assert [(row["agent_steps"], row["episodes"], row["final"]) for row in rows] == [
        (10, 2, 0),
        (100, 3, 1),
    ]
    parts_saved, facts = checkpoints.load(checkpoints.latest(folder.best_checkpoint))
    best = max(rows, key=lambda row: row["mean_return"])
    assert facts["agent_steps"] == best["agent_steps"]
    vectors = {10: first.vector, 100: store.pull().vector}
    np.testing.assert_array_equal(
        parts_saved["parameters_0"]["parameters"], vectors[facts["agent_steps"]]
    )


def test_a_look_that_finds_nothing_due_pulls_no_parameters(tmp_path, monkeypatch):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    opened, make_store = stores()
    config = dqn_config.DQNConfig(**SETTINGS)
    evaluator = evaluation.make_evaluator(
        config, str(folder.path), parts.make_player, make_store, threading.Event().wait
    )
    [store] = opened
    pulls, pull = [], store.pull
    monkeypatch.setattr(store, "pull", lambda: pulls.append(True) or pull())
    for _ in range(3):
        assert not evaluator.step()
    assert pulls == []
    store.add_steps(10)
    assert evaluator.step()
    assert pulls == [True]
    evaluator.close()


def test_its_environment_has_a_seed_of_its_own(tmp_path, monkeypatch):
    seeds = []

    class Made(Exception):
        pass

    def make(seed):
        seeds.append(seed)
        raise Made

    config = dqn_config.DQNConfig(**SETTINGS, seed=7)
    monkeypatch.setattr(registry, "make_factory", lambda *_, **__: make)
    with pytest.raises(Made):
        evaluation.make_evaluator(
            config, str(tmp_path), parts.make_player, None, threading.Event().wait
        )
    assert seeds == [seeding.derive(7, "evaluation environment")]
