"""Tests of the study of exploration."""

import pathlib

import pytest

from experiments import exploration


def test_workers_draw_their_own_epsilon_or_share_one(runner):
    exploration.main(["--seeds=1"])
    assert [run["final_epsilon"] for run in runner.commands] == ["none", "0.1", "0.193"]
    assert {run["algorithm"] for run in runner.commands} == {"one_step_q"}


def test_one_of_the_shared_epsilons_is_the_mean_of_the_paper():
    mean = 0.4 * 0.1 + 0.3 * 0.01 + 0.3 * 0.5
    assert exploration.EPSILONS["all_0.193"] == round(mean, 3)


def test_the_table_has_means_over_runs_with_their_intervals(runner):
    runner.evaluate = lambda flags: [
        (100, 1.0, 0.0),
        (200, 2.0, float(flags["seed"])),
    ]
    exploration.main(["--seeds=2", "--environment=catch"])
    out = pathlib.Path("docs/results/exploration_catch")
    # Two runs of 0 and 1: the bootstrap draws both means.
    row = "| each draws its own | 2 | 0.50 (0.00 to 1.00) | 0.25 (0.00 to 0.50) |"
    assert row in (out / "table.md").read_text()
    assert "<svg" in (out / "curves.svg").read_text()


def test_several_environments_are_refused_before_the_first_run(runner, capsys):
    with pytest.raises(SystemExit, match="2"):
        exploration.main(["--environment=minatar"])
    assert "--environment is 'minatar': it must be one" in capsys.readouterr().err
    assert runner.commands == []


def test_seeds_with_one_evaluation_each_end_no_study(runner):
    runner.evaluate = lambda flags: [(30_005 + 7 * int(flags["seed"]), 1.0, 0.5)]
    assert exploration.main(["--seeds=2"]) == 0
