"""Tests of rlcomponents.dashboard.curves."""

import math

import numpy as np
import pytest

from rlcomponents.dashboard import curves
from rlcomponents.runs import metrics, run_folder


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


def write(path, columns, *rows):
    writer = metrics.MetricsWriter(path, columns)
    for row in rows:
        writer.write(row)
    writer.close()


def evaluated(folder, *rows):
    write(folder.evaluation_csv, metrics.EVALUATION_COLUMNS, *rows)


FIRST = {
    "agent_steps": 100,
    "updates": 25,
    "wall_secs": 2.5,
    "mean_return": 1.0,
    "standard_error": 0.5,
}
SECOND = {**FIRST, "agent_steps": 200, "mean_return": 3.0, "standard_error": None}


@pytest.mark.parametrize(
    ("over", "position"),
    [
        ("agent_steps", 100.0),
        ("updates", 25.0),
        ("wall_secs", 2.5),
        ("environment_frames", 400.0),  # Four a step.
    ],
)
def test_an_evaluation_is_a_point_on_every_axis(folder, over, position):
    evaluated(folder, FIRST)
    counts = {"agent_steps": 500, "environment_frames": 2_000}
    write(folder.program_csv, metrics.PROGRAM_COLUMNS, counts)
    assert curves.RunCurves(folder).points("evaluation", over) == [(position, 1.0, 0.5)]


def test_one_episode_has_no_standard_error(folder):
    evaluated(folder, SECOND)
    [(_, _, error)] = curves.RunCurves(folder).points("evaluation", "agent_steps")
    assert math.isnan(error)


def test_training_returns_are_drawn_from_the_program(folder):
    rows = [
        {"agent_steps": 1, "updates": 7},  # No episode has ended.
        {"agent_steps": 2, "updates": 8, "train_return": -1.0},
    ]
    write(folder.program_csv, metrics.PROGRAM_COLUMNS, *rows)
    [point] = curves.RunCurves(folder).points("training", "updates")
    assert point[:2] == (8.0, -1.0)


@pytest.mark.parametrize(
    ("of", "sentence"),
    [("evaluation", "no evaluation yet"), ("training", "no training episode has")],
)
def test_what_is_missing_is_said(folder, of, sentence):
    with pytest.raises(ValueError, match=sentence):
        curves.RunCurves(folder).points(of, "agent_steps")


def test_a_file_of_other_columns_is_refused(folder):
    folder.evaluation_csv.write_text("agent_steps,mean_return\n1,2\n")
    with pytest.raises(ValueError, match="no column 'standard_error'"):
        curves.RunCurves(folder).points("evaluation", "agent_steps")


def test_the_version_changes_with_the_rows_and_only_then(folder):
    run_curves = curves.RunCurves(folder)
    evaluated(folder, FIRST)
    first = run_curves.version("evaluation")
    assert run_curves.version("evaluation") == first
    evaluated(folder, SECOND)
    assert run_curves.version("evaluation") != first


def test_a_run_that_goes_on_from_before_is_read_anew(folder):
    evaluated(folder, FIRST, SECOND)
    run_curves = curves.RunCurves(folder)
    before = run_curves.version("evaluation")
    metrics.cut(folder.evaluation_csv, lambda row: row["agent_steps"] <= 100)
    evaluated(folder, {**SECOND, "mean_return": 9.0})
    assert run_curves.version("evaluation") != before
    points = run_curves.points("evaluation", "agent_steps")
    assert [value for _, value, _ in points] == [1.0, 9.0]


def test_rows_that_vanish_are_gone(folder):
    evaluated(folder, FIRST)
    rows = curves.GrowingRows(folder.evaluation_csv)
    assert len(rows.read()) == 1
    folder.evaluation_csv.unlink()
    assert rows.read() == []


def test_a_damaged_file_is_refused_each_time(folder):
    folder.evaluation_csv.write_text("agent_steps,mean_return\n1,2,3\n")
    rows = curves.GrowingRows(folder.evaluation_csv)
    for _ in range(2):
        with pytest.raises(ValueError, match="a line of 3 fields"):
            rows.read()


def test_a_half_written_line_is_left_for_later(folder):
    path = folder.evaluation_csv
    path.write_text("agent_steps,mean_return\n1,2\n3,")
    rows = curves.GrowingRows(path)
    assert len(rows.read()) == 1
    with path.open("a") as file:
        file.write("4\n")
    assert rows.read()[-1] == {"agent_steps": 3.0, "mean_return": 4.0}


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    rows = np.arange(2_001.0)[:, None]
    thinned = curves.thinned(rows)[:, 0]
    assert len(thinned) == curves.MAX_POINTS == 500
    assert thinned[0] == 0.0
    assert thinned[-1] == 2_000.0
    assert np.all(np.diff(thinned) >= 4.0)  # 2000 / 499 is 4.008.


def test_a_short_curve_is_left_as_it_is():
    rows = np.arange(500.0)[:, None]
    np.testing.assert_array_equal(curves.thinned(rows), rows)
