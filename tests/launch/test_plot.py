"""Tests of the script that draws curves."""

import pytest

from launch import plot
from rlcomponents.runs import metrics, run_folder


def make_run(path, *, seed):
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": "dqn", "environment": "catch", "seed": seed})
    writer = metrics.MetricsWriter(folder.evaluation_csv, metrics.EVALUATION_COLUMNS)
    for step in (100, 200):
        writer.write({"agent_steps": step, "mean_return": step / 200 + seed})


def test_curves_of_runs_are_drawn_into_a_file(empty_folder, capsys):
    make_run("first", seed=1)
    make_run("second", seed=2)
    assert plot.main(["first", "second", "--out=both.svg"]) == 0
    assert "2 runs, 95 % interval" in (empty_folder / "both.svg").read_text()
    assert capsys.readouterr().out == "Curves of 2 runs: both.svg\n"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["first", "--out=a.gif"], "--out is 'a.gif': it must end in .png or .svg."),
        (["first", "--out=no/a.png"], "there is no folder no; make it."),
        (["first", "--out=folder.svg"], "--out is 'folder.svg', a folder: give the"),
        (["first", f"--out={'a' * 250}.svg"], "cannot be written (File name too long)"),
        (["first", f"--out={'a' * 300}.svg"], "cannot be written (File name too long)"),
        (["first", "--over=hours"], "it must be one of agent_steps, "),
        (["second"], "second holds no run"),
        ([], "The following arguments are required: RUN_DIR"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(empty_folder, capsys, argv, sentence):
    make_run("first", seed=1)
    (empty_folder / "folder.svg").mkdir()
    with pytest.raises(SystemExit, match="2"):
        plot.main(argv)
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err
    assert output.err.count("\n") == 1
