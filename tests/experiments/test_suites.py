"""Tests of studies whose variants are suites by name."""

import csv
import pathlib

import pytest

from experiments import suites

NAME = "experiments/some_suites.py"
SUITES = {
    "short": ("dqn", {"games": "catch", "max_steps": 1_000}),
    "long": ("a3c", {"games": "catch,catch:blind", "max_steps": 9_000}),
}


def variants(**flags):
    found = suites.variants(suites.SuitesFlags(**flags), SUITES)
    return {name: (agent, settings) for name, agent, settings in found}


def test_all_are_run_as_they_are_unless_flags_say_otherwise():
    assert variants() == SUITES
    assert variants(suites="long") == {"long": SUITES["long"]}


def test_flags_change_games_and_steps_of_all():
    found = variants(games="catch", max_steps=500)
    changed = {"games": "catch", "max_steps": 500, "evaluation_period_steps": 50}
    assert found == {"short": ("dqn", changed), "long": ("a3c", changed)}


def test_an_unknown_suite_is_refused(runner, capsys):
    with pytest.raises(SystemExit):
        suites.main(NAME, ["--suites=ppo"], "Some.", SUITES)
    assert "suites has 'ppo': each must be one of short, long." in (
        capsys.readouterr().err
    )


def test_each_suite_has_its_table_and_curves_and_the_small_files_of_its_runs(runner):
    assert suites.main(NAME, ["--suites=short", "--seeds=2"], "Some.", SUITES) == 0
    out = pathlib.Path("docs/results/some_suites")
    text = (out / "short/table.md").read_text()
    assert text.startswith("# short on 1 game, 2 seeds\n\n    python experiments/some")
    assert text.endswith("\n![Curves](curves.svg)\n")
    with (out / "short/table.csv").open() as file:
        assert [row["seeds_complete"] for row in csv.DictReader(file)] == ["2"]
    for path in (out / "short/curves.svg", out / "curves.svg"):
        assert "<svg" in path.read_text()
    kept = {path.name for path in out.glob("short/runs/catch-1/*")}
    assert kept == {"config.json", "evaluation.csv", "origin.json", "summary.json"}
