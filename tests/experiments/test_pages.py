"""Tests of what the page of a study says of its runs."""

import pathlib

from experiments import pages, study
from rlcomponents.evaluation import suite_origins


def run(made, runner):
    return study.run(made, lambda _: None, runner)


def test_a_page_says_how_it_was_made(made, runner):
    run(made, runner)
    pages.write_page(made, "Two rates", ["Words."], runs=made.all_runs())
    lines = pathlib.Path("out/table.md").read_text().splitlines()
    assert lines[:3] == ["# Two rates", "", "    python experiments/some.py"]
    assert lines[4].startswith("Python 3.10")
    assert "cores of" in lines[4]
    assert lines[4].endswith("Runs of 2026-09-21.")
    assert lines[5:] == ["", "Words.", "", "Seed 0."]


def test_a_page_says_of_runs_what_these_say_and_nothing_of_others(made, runner):
    made = made._replace(seeds=2)
    run(made, runner)
    slow, fast = (made.planned(variant) for variant in made.variants)
    suite_origins.write(
        slow[0], suite_origins.Origin("Python 2.7", "1 core", "2014-12-01", "abc")
    )
    (slow[1] / suite_origins.FILE).unlink()
    pages.write_page(made, "Two rates", [], runs=[*slow, *fast])
    words = pathlib.Path("out/table.md").read_text().splitlines()[4]
    assert words.startswith(
        "1 run: Python 2.7, on 1 core, commit abc. 2 runs: Python 3"
    )
    assert "1 run: no record of what made it. Runs of 2026-09-21." in words


def test_one_run_has_no_interval():
    assert pages.mean_with_interval([0.5]) == (0.5, None, None)
    assert pages.interval_text(0.5, None, None) == "0.50"
