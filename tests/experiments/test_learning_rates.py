"""Tests of the study of learning rates."""

import csv
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from experiments import kept_runs, learning_rates

ROOT = pathlib.Path(__file__).parents[2]


def test_the_rates_are_one_of_each_tenth_of_the_logarithm_by_seed_0():
    tenths = (np.arange(10) + np.random.default_rng(0).random(10)) / 10
    expected = [float(f"{rate:.2g}") for rate in 10 ** (-4 + 3 * tenths)]
    assert list(learning_rates.RATES) == expected


def test_each_optimiser_is_run_with_each_rate_and_its_own_statistics(runner):
    assert learning_rates.main([]) == 0
    asked = [
        (run["optimiser"], run["optimiser_statistics"], float(run["learning_rate"]))
        for run in runner.commands
    ]
    assert asked == [
        (*optimiser, rate)
        for optimiser in (
            ("rmsprop", "shared"),
            ("rmsprop", "private"),
            ("momentum", "private"),
        )
        for rate in learning_rates.RATES
    ]


def test_the_table_has_the_last_score_by_rate_and_the_sorted_ones(runner):
    scores = {1.6e-4: -0.5, 9.6e-2: 0.75}
    runner.evaluate = lambda flags: [
        (100, 1.0, 0.9),
        (200, 2.0, scores[float(flags["learning_rate"])]),
    ]
    learning_rates.main(["--num_rates=2", "--optimisers=momentum_sgd"])
    out = pathlib.Path("docs/results/learning_rates")
    text = (out / "table.md").read_text()
    assert "| 0.00016 | -0.50 |" in text
    assert "| momentum_sgd | 2 | 0.12 | 1 | 0.75, -0.50 |" in text
    assert "python experiments/learning_rates.py --num_rates=2" in text
    with (out / "table.csv").open() as file:
        assert list(csv.DictReader(file)) == [
            {"optimiser": "momentum_sgd", "learning_rate": "0.00016", "score": "-0.5"},
            {"optimiser": "momentum_sgd", "learning_rate": "0.096", "score": "0.75"},
        ]
    assert "<svg" in (out / "curves.svg").read_text()


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--optimisers=adam", "optimisers has 'adam'"),
        ("--num_rates=1", "num_rates is 1: it must be 2 to 10"),
        ("--seeds=0", "seeds is 0"),
        ("--environment=catchh", "catchh"),
        ("--environment=minatar", "--environment is 'minatar': it must be one"),
    ],
)
def test_what_cannot_be_run_is_refused(runner, capsys, flag, words):
    with pytest.raises(SystemExit):
        learning_rates.main([flag])
    assert words in capsys.readouterr().err
    assert runner.commands == []


@pytest.mark.integration
def test_two_rates_are_learned_and_a_second_start_runs_nothing(tmp_path):
    command = [
        sys.executable,
        ROOT / "experiments/learning_rates.py",
        "--num_rates=2",
        "--optimisers=shared_rmsprop",
        "--max_steps=500",
    ]
    for _ in range(2):
        finished = subprocess.run(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True,
            text=True,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.count("is complete.") == 2
    out = tmp_path / "docs/results/learning_rates"
    assert "| shared_rmsprop | 2 |" in (out / "table.md").read_text()
    kept = {path.name for path in out.glob("*/runs/catch-0/*")}
    assert kept == set(kept_runs.FILES)
    costs_csv = next(out.glob("*/runs/catch-0/costs.csv"))
    with costs_csv.open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["cpu_secs"]) > 1.0
