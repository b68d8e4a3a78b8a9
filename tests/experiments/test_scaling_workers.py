"""Tests of the study of the number of workers."""

import csv
import pathlib

import pytest

from experiments import scaling_workers


def evaluations(*points):
    names = ("agent_steps", "wall_secs", "mean_return")
    return [dict(zip(names, map(float, point), strict=True)) for point in points]


def test_between_evaluations_returns_are_linear():
    rows = evaluations((100, 1.0, 0.0), (200, 3.0, 1.0), (300, 4.0, 1.0))
    found = scaling_workers.reached(rows, 0.75)
    assert found == scaling_workers.Reached(agent_steps=175.0, wall_secs=2.5)


def test_a_first_evaluation_at_the_score_counts_where_it_was_made():
    rows = evaluations((100, 1.0, 0.9))
    assert scaling_workers.reached(rows, 0.75) == (100.0, 1.0)


def test_a_score_that_was_never_reached_has_no_time():
    assert scaling_workers.reached(evaluations((100, 1.0, 0.5)), 0.75) is None


def test_every_method_is_run_with_every_number_of_workers(runner):
    scaling_workers.main(["--seeds=1"])
    asked = {
        (run.get("algorithm", "a3c"), run["num_workers"]) for run in runner.commands
    }
    numbers = ("1", "2", "4", "8", "16")
    assert asked == {
        (method, number) for method in scaling_workers.METHODS for number in numbers
    }


def test_the_table_compares_with_one_worker_and_with_the_paper(runner):
    def evaluate(flags):
        steps = 1_000 / int(flags["num_workers"])
        return [(steps, steps / 100, 0.8), (2_000, 20.0, 1.0)]

    runner.evaluate = evaluate
    scaling_workers.main(["--methods=n_step_q", "--workers=4,1", "--seeds=3"])
    out = pathlib.Path("docs/results/scaling_workers")
    text = (out / "table.md").read_text()
    assert "| n_step_q | 4 | 3 of 3 | 250 | 2.5 | 4.00 | 4.00 | 5.9 |" in text
    with (out / "table.csv").open() as file:
        one, four = csv.DictReader(file)
    assert (one["data_efficiency"], four["data_efficiency"]) == ("1", "4")


def test_runs_that_never_reach_the_score_have_no_numbers(runner):
    runner.evaluate = lambda flags: [(100, 1.0, 0.0)]
    scaling_workers.main(["--methods=a3c", "--workers=1", "--seeds=1"])
    text = pathlib.Path("docs/results/scaling_workers/table.md").read_text()
    assert "| a3c | 1 | 0 of 1 |  |  |  |  | 1.0 |" in text


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--methods=dqn", "methods has 'dqn'"),
        ("--workers=1,two", "workers is '1,two': give numbers"),
        ("--workers=0", "num_workers is 0"),
        ("--environment=minatar", "--environment is 'minatar': it must be one"),
    ],
)
def test_what_cannot_be_run_is_refused(runner, capsys, flag, words):
    with pytest.raises(SystemExit):
        scaling_workers.main([flag])
    assert words in capsys.readouterr().err
    assert runner.commands == []


def test_another_game_leaves_the_folder_of_the_default_one_alone(runner):
    scaling_workers.main(["--methods=a3c", "--workers=1", "--seeds=1"])
    flags = ["--methods=a3c", "--workers=1", "--seeds=1", "--score=3"]
    scaling_workers.main([*flags, "--environment=minatar:breakout"])
    pages = {
        str(path.parent): path.read_text().splitlines()[0]
        for path in pathlib.Path("docs/results").glob("*/table.md")
    }
    assert pages == {
        "docs/results/scaling_workers": "# Workers, on catch",
        "docs/results/scaling_workers_minatar_breakout": "# Workers, on minatar:"
        "breakout",
    }
