"""Tests of the picture of a run: what is drawn, not how it looks."""

import numpy as np
import pytest
from matplotlib import axes, figure

from rlcomponents.runs import curve, metrics, run_folder


@pytest.fixture
def folder(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path)
    folder.write_config({"agent": "gorila_dqn", "environment": "minatar:breakout"})
    return folder


@pytest.fixture
def drawn(monkeypatch):
    """The axes of each figure that was saved, instead of its pixels."""
    saved = []

    def savefig(self, buffer, **kwargs):
        saved.append(self.axes[0])
        buffer.write(b"picture")

    monkeypatch.setattr(figure.Figure, "savefig", savefig)
    return saved


def write_training(folder, steps, returns):
    writer = metrics.MetricsWriter(folder.program_csv, metrics.PROGRAM_COLUMNS)
    for step, value in zip(steps, returns, strict=True):
        writer.write({"agent_steps": step, "train_return": value})


def write_evaluation(folder, *rows):
    writer = metrics.MetricsWriter(folder.evaluation_csv, metrics.EVALUATION_COLUMNS)
    for step, mean, error in rows:
        writer.write(
            {"agent_steps": step, "mean_return": mean, "standard_error": error}
        )


def points(axes, label):
    """Returns the points of the line with this label."""
    handles, labels = axes.get_legend_handles_labels()
    (handle,) = (h for h, text in zip(handles, labels, strict=True) if label in text)
    line = handle[0] if isinstance(handle, tuple) else handle
    return line.get_xydata().tolist()


def test_a_picture_is_written(folder):
    write_training(folder, [1, 2], [0.0, 1.0])
    write_evaluation(folder, (2, 1.0, 0.1))
    path = curve.plot(folder)
    assert path == folder.curve_png
    assert path.read_bytes().startswith(b"\x89PNG")


def test_returns_are_drawn_over_agent_steps(folder, drawn):
    write_training(folder, [10, 20, 30], [None, 0.5, 1.5])  # No episode ended by 10.
    write_evaluation(folder, (15, 2.0, 0.5), (30, 4.0, None))
    curve.plot(folder, random_return=0.5)
    (axes,) = drawn
    assert points(axes, "training") == [[20, 0.5], [30, 1.5]]
    assert points(axes, "evaluation") == [[15, 2.0], [30, 4.0]]
    assert points(axes, "random policy (0.5)") == [[0, 0.5], [1, 0.5]]  # All along.
    assert axes.get_title(loc="left") == "gorila_dqn on minatar:breakout"
    assert "agent steps" in axes.get_xlabel()
    assert [text.get_text() for text in axes.texts] == ["4"]
    assert axes.get_title(loc="right") == ""


def test_the_error_bars_are_the_standard_error(folder, monkeypatch):
    calls = []
    monkeypatch.setattr(
        axes.Axes, "errorbar", lambda self, *args, **kwargs: calls.append(kwargs)
    )
    write_evaluation(folder, (15, 2.0, 0.5), (30, 4.0, None))
    curve.plot(folder)
    np.testing.assert_array_equal(calls[0]["yerr"], [0.5, 0.0])


def test_steps_that_a_resumed_run_took_again_are_drawn_once(folder, drawn):
    write_training(folder, [10, 20, 30, 15, 25, 35], [1, 2, 3, 4, 5, 6])
    curve.plot(folder)
    assert points(drawn[0], "training") == [[10, 1], [15, 4], [25, 5], [35, 6]]


def test_a_run_without_returns_says_so_in_the_picture(folder, drawn):
    curve.plot(folder)
    assert (
        drawn[0].get_title(loc="right")
        == "no evaluation and no training episode was recorded"
    )


def test_a_run_without_evaluation_says_so_in_the_picture(folder, drawn):
    write_training(folder, [10], [1.0])
    curve.plot(folder)
    assert drawn[0].get_title(loc="right") == "no evaluation was recorded"


def test_without_agent_and_environment_the_folder_is_the_title(folder, drawn):
    folder.write_config({})
    curve.plot(folder)
    assert drawn[0].get_title(loc="left") == folder.path.name
