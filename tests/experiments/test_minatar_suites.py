"""Tests of the suites on MinAtar."""

import csv
import pathlib

import pytest

from experiments import minatar_suites


def test_the_suites_are_those_of_all_six_agents(runner):
    minatar_suites.main(["--seeds=1", "--games=minatar:breakout", "--max_steps=1000"])
    asked = [
        (run.get("algorithm"), run.get("num_bundles"), run["evaluation_period_steps"])
        for run in runner.commands
    ]
    assert asked == [
        (None, None, "100"),
        ("n_step_q", None, "100"),
        ("one_step_q", None, "100"),
        ("one_step_sarsa", None, "100"),
        (None, None, "100"),
        (None, "2", "100"),
    ]


def test_each_suite_has_its_table_and_curves_and_the_small_files_of_its_runs(runner):
    minatar_suites.main(["--suites=dqn", "--games=minatar:breakout", "--seeds=2"])
    out = pathlib.Path("docs/results/minatar_suites")
    text = (out / "dqn/table.md").read_text()
    assert text.startswith("# dqn on 1 games, 2 seeds\n\n    python experiments/mina")
    with (out / "dqn/table.csv").open() as file:
        assert [row["seeds_complete"] for row in csv.DictReader(file)] == ["2"]
    for path in (out / "dqn/curves.svg", out / "curves.svg"):
        assert "<svg" in path.read_text()
    kept = {path.name for path in out.glob("dqn/runs/minatar_breakout-1/*")}
    assert kept == {"config.json", "evaluation.csv", "origin.json", "summary.json"}


def test_an_unknown_suite_is_refused(runner, capsys):
    with pytest.raises(SystemExit):
        minatar_suites.main(["--suites=ppo"])
    assert "suites has 'ppo'" in capsys.readouterr().err
