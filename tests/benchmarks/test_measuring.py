"""Tests of benchmarks.measuring, and of the table that is made of its results."""

import importlib.util
import json
import pathlib
from types import ModuleType

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def load(path: str) -> ModuleType:
    """Imports a script, which is in no package."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


measuring = load("benchmarks/measuring.py")
table = load("tools/benchmark_table.py")


@pytest.fixture
def options(tmp_path):
    return measuring.Options(rounds=3, quick=False, json=tmp_path / "results.json")


def written(options, bench="a"):
    return json.loads(options.json.read_text())["benches"][bench]


def test_each_round_measures_everything_and_begins_with_another():
    calls = []
    measures = {
        name: lambda name=name: calls.append(name) or float(len(calls))
        for name in ("x", "y")
    }
    values = measuring.interleave(measures, rounds=2)
    assert calls == ["x", "y", "y", "x"]
    assert values == {"x": [1.0, 4.0], "y": [2.0, 3.0]}


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        ({"at_least": 2.0}, True),
        ({"at_least": 2.1}, False),
        ({"at_most": 2.0}, True),
        ({"at_most": 1.9}, False),
    ],
)
def test_a_goal_is_met_by_the_median_of_the_rounds(options, goal, met):
    report = measuring.Report("a", options)
    report.ratio("x / y", [9.0, 2.0, 1.0], **goal)
    report.write()
    (ratio,) = written(options)["ratios"]
    assert ratio == {
        "name": "x / y", "median": 2.0, "low": 1.0, "high": 9.0, **goal, "met": met
    }  # fmt: skip


def test_a_benchmark_leaves_the_results_of_others_alone(options):
    for bench in ("a", "b"):
        report = measuring.Report(bench, options)
        report.number("speed", 1.0 if bench == "a" else 2.0, "steps/s")
        report.write()
    assert written(options, "a")["numbers"][0]["median"] == 1.0
    assert written(options, "b")["numbers"][0]["median"] == 2.0


def test_the_table_shows_what_was_not_met(options):
    report = measuring.Report("a", options)
    report.ratio("x / y", [1.0, 1.25, 1.5], at_least=1.3)
    report.note("A note.")
    report.write()
    lines = list(table.describe(json.loads(options.json.read_text())))
    assert "| x / y | 1.25 | 1 to 1.5 | ≥ 1.3 | **no** |" in lines
    assert "- A note." in lines


def test_the_table_begins_with_the_goals_that_are_not_met(options):
    report = measuring.Report("a", options)
    report.ratio("x / y", 1.25, at_least=1.3)
    report.ratio("seconds", 2.0, at_most=3.0)
    report.ratio("no goal", 5.0)
    report.write()
    lines = list(table.describe(json.loads(options.json.read_text())))
    assert lines[2].startswith("1 of 2 goals are met")
    assert lines[4:7] == [
        "| not met | median | goal |",
        "|---|---:|---:|",
        "| a: x / y | 1.25 | ≥ 1.3 |",
    ]


def test_the_fastest_call_counts_after_one_that_does_not():
    calls = []

    def work():
        calls.append(len(calls))

    assert 0.0 <= measuring.fastest_wall_secs(work, repeats=3) < 60.0
    assert len(calls) == 4


def test_versions_of_the_peers_are_written_down(options, tmp_path, monkeypatch):
    packages = tmp_path / "lib/python3.11/site-packages"
    (packages / "torch-2.13.0.dist-info").mkdir(parents=True)
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n"
    (packages / "torch-2.13.0.dist-info/METADATA").write_text(metadata)
    monkeypatch.setattr(measuring, "_PEERS", tmp_path)
    measuring.Report("a", options).write()
    machine = json.loads(options.json.read_text())["machine"]
    assert machine["peers"] == {"torch": "2.13.0"}
