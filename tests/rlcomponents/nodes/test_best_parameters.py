"""Tests of keeping the parameters with the best evaluation."""

import numpy as np
import pytest

from rlcomponents import core
from rlcomponents.nodes import best_parameters
from rlcomponents.runs import checkpoints, run_folder


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


def keeper(folder):
    return best_parameters.BestParameters(folder, facts={"environment": "catch"})


def snapshot(steps):
    return core.Snapshot(
        np.full(3, steps, np.float32), (core.Version(1, steps // 10),), steps
    )


def kept(folder):
    """Returns steps and return of what is kept."""
    (path,) = folder.best_checkpoint.iterdir()
    parts, facts = checkpoints.load(path)
    np.testing.assert_array_equal(
        parts["parameters_0"]["parameters"], [facts["agent_steps"]] * 3
    )
    return facts["agent_steps"], facts["mean_return"]


def test_what_is_better_than_all_before_is_kept(folder):
    best = keeper(folder)
    seen = []
    for steps, mean_return in ((10, -5.0), (20, 1.0), (30, 0.5), (40, 1.0), (50, 2.0)):
        best.offer(snapshot(steps), mean_return)
        seen.append(kept(folder))
    assert seen == [(10, -5.0), (20, 1.0), (20, 1.0), (20, 1.0), (50, 2.0)]


def test_what_an_earlier_life_kept_is_to_be_beaten(folder):
    keeper(folder).offer(snapshot(50), 2.0)
    best = keeper(folder)
    best.offer(snapshot(20), 1.0)
    assert kept(folder) == (50, 2.0)
    best.offer(snapshot(30), 3.0)  # Of a run that has gone on from before.
    assert kept(folder) == (30, 3.0)


def save_run(folder, agent_steps):
    checkpoints.save(
        folder.checkpoints, agent_steps=agent_steps, parts={}, facts={}, num_kept=2
    )


def test_the_best_before_each_checkpoint_of_the_run_is_kept_too(folder):
    best = keeper(folder)

    def bests():
        return [steps for steps, _ in checkpoints.listed(folder.best_checkpoint)]

    best.offer(snapshot(10), 1.0)
    best.offer(snapshot(20), 2.0)
    assert bests() == [20]  # There is nothing yet to go back to.
    save_run(folder, 25)
    best.offer(snapshot(30), 3.0)
    best.offer(snapshot(40), 4.0)
    save_run(folder, 45)
    best.offer(snapshot(50), 5.0)
    assert bests() == [20, 30, 40, 50]
    save_run(folder, 55)  # That of 25 is gone.
    best.offer(snapshot(60), 6.0)
    assert bests() == [40, 50, 60]


def test_a_return_that_is_no_number_is_not_the_best(folder):
    keeper(folder).offer(snapshot(10), float("nan"))
    assert not folder.best_checkpoint.exists()


def test_it_is_a_checkpoint_as_any_other_and_none_of_the_runs(folder):
    keeper(folder).offer(snapshot(10), 2.0)
    assert checkpoints.latest(folder.checkpoints) is None
    path = checkpoints.latest(folder.best_checkpoint)
    _, facts = checkpoints.load(path)
    assert facts == {
        "environment": "catch",
        "agent_steps": 10,
        "updates": 1,
        "num_parameter_shards": 1,
        "mean_return": 2.0,
    }
