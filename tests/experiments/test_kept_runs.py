"""Tests of what is kept of the runs of a study, and of how it is taken up."""

import json
import pathlib
import shutil

import pytest

from experiments import study

OUT = pathlib.Path("out/slow/runs/catch-0")
WORK = pathlib.Path("work/slow/runs/catch-0")


def run(made, runner):
    return study.run(made, lambda _: None, runner)


@pytest.fixture
def kept(made, runner):
    """A study of one run that was kept, and is nowhere else."""
    made = made._replace(variants=made.variants[:1])
    run(made, runner)
    shutil.rmtree("work")
    runner.commands = []
    return made


def edit_settings(change):
    settings = json.loads((OUT / "config.json").read_text())
    change(settings)
    (OUT / "config.json").write_text(json.dumps(settings))


def test_kept_runs_that_the_study_no_longer_has_are_dropped(made, runner):
    assert run(made._replace(seeds=2), runner) == 0
    out = pathlib.Path("out/slow/runs")
    (out / "catch-7").mkdir()
    shutil.copytree(out / "catch-1", out / "catch-8")
    (out / "catch-8" / "checkpoints").mkdir()
    shutil.copytree(out / "catch-1", out / "mine")
    (out / "notes-1").write_text("A file.")
    run(made, runner)
    left = sorted(path.name for path in out.iterdir())
    # A folder without the name or the files of a kept run, or with others, is none.
    assert left == ["catch-0", "catch-7", "catch-8", "mine", "notes-1"]
    assert len(list(pathlib.Path("work/slow/runs").glob("catch-*"))) == 2


def test_what_was_kept_is_complete_and_not_run_again(kept, runner, capsys):
    before = {path.name: path.read_bytes() for path in OUT.iterdir()}
    capsys.readouterr()
    assert run(kept, runner) == 0
    assert runner.commands == []
    assert "catch with seed 0 is complete." in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in WORK.iterdir()} == before
    assert {path.name: path.read_bytes() for path in OUT.iterdir()} == before


def test_what_was_kept_of_other_settings_is_run_anew(kept, runner, capsys):
    edit_settings(lambda settings: settings.update(batch_size=8))
    assert run(kept, runner) == 0
    assert len(runner.commands) == 1
    assert f"{OUT} is run anew: it has batch_size 8 rather than 32." in (
        capsys.readouterr().out
    )
    assert json.loads((OUT / "config.json").read_text())["batch_size"] == 32


@pytest.mark.parametrize(
    "break_files",
    [
        lambda: edit_settings(lambda settings: settings.update(gone=1)),
        lambda: (OUT / "summary.json").write_text(""),
        lambda: (OUT / "config.json").write_text("<<<<<<< HEAD"),
    ],
    ids=["unknown-setting", "no-summary", "conflict"],
)
def test_what_this_version_does_not_read_is_run_anew(kept, runner, capsys, break_files):
    break_files()
    assert run(kept, runner) == 0
    assert len(runner.commands) == 1
    said = capsys.readouterr().out
    assert f"{OUT} is run anew: it has files that this version does not read." in said


def test_a_run_of_another_agent_is_run_anew(kept, runner, capsys):
    edit_settings(lambda settings: settings.update(agent="gorila_dqn"))
    assert run(kept, runner) == 0
    assert "it has agent 'gorila_dqn' rather than 'dqn'." in capsys.readouterr().out


def test_a_run_that_was_begun_is_not_replaced_by_what_was_kept(kept, runner):
    WORK.mkdir(parents=True)
    assert run(kept, runner) == 0
    assert len(runner.commands) == 1


def test_what_was_kept_of_a_run_that_is_not_complete_is_run_anew(kept, runner):
    (OUT / "summary.json").unlink()
    assert run(kept, runner) == 0
    assert len(runner.commands) == 1
