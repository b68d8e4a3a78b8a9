"""Tests of how a study runs its variants, and what it keeps."""

import errno
import io
import pathlib
import signal
import sys
from importlib.machinery import PathFinder

import pytest

from experiments import study
from launch import suite_plan

VARIANTS = [
    study.Variant("slow", "dqn", {"games": "catch", "learning_rate": 0.01}),
    study.Variant("fast", "dqn", {"games": "catch", "learning_rate": 0.1}),
]


@pytest.fixture
def made():
    """A study of two variants."""
    return study.make("some.py", [], study.StudyFlags(out="out", work="work"), VARIANTS)


class _ClosedOutput(io.StringIO):
    """Output that nobody reads."""

    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def run(made, runner, seeds=1):
    written = []
    return study.run(made, seeds, written.append, runner), written


def test_each_variant_is_a_suite_of_its_own(made, runner):
    assert run(made, runner, seeds=2) == (0, [made])
    asked = [
        (command["run_dir"], command["learning_rate"]) for command in runner.commands
    ]
    assert asked == [
        ("work/slow/runs/catch-0", "0.01"),
        ("work/slow/runs/catch-1", "0.01"),
        ("work/fast/runs/catch-0", "0.1"),
        ("work/fast/runs/catch-1", "0.1"),
    ]


def test_what_is_complete_stays_and_what_failed_is_tried_again(made, runner):
    evaluate = runner.evaluate
    fast = "0.1"
    runner.evaluate = lambda flags: (
        None if flags["learning_rate"] == fast else evaluate(flags)
    )
    assert run(made, runner)[0] == 1
    runner.evaluate, runner.commands = evaluate, []
    assert run(made, runner)[0] == 0
    assert [command["learning_rate"] for command in runner.commands] == [fast]


def test_a_signal_ends_the_study_with_what_there_is(made, runner):
    evaluate = runner.evaluate

    def interrupt(flags):
        runner.receive(signal.SIGINT)
        return evaluate(flags)

    runner.evaluate = interrupt
    exit_code, written = run(made, runner)
    assert (exit_code, len(runner.commands), written) == (130, 1, [made])


def test_a_signal_while_variants_are_checked_starts_no_run(made, runner, monkeypatch):
    make_ready = suite_plan.make_ready

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        return make_ready(*args)

    monkeypatch.setattr(suite_plan, "make_ready", interrupted)
    assert run(made, runner) == (130, [])
    assert runner.commands == []


def test_nothing_is_written_without_a_complete_run(made, runner):
    runner.evaluate = lambda flags: None
    assert run(made, runner) == (1, [])


def test_only_the_small_files_of_complete_runs_are_kept(made, runner):
    run(made, runner)
    kept = sorted(str(path) for path in pathlib.Path("out").rglob("*.*"))
    files = ("config.json", "evaluation.csv", "summary.json")
    assert kept == [
        f"out/{variant}/runs/catch-0/{name}"
        for variant in ("fast", "slow")
        for name in files
    ]


def test_all_variants_are_checked_before_the_first_run(made, runner, capsys):
    bad = study.Variant("bad", "dqn", {"games": "catch", "learning_rate": -1.0})
    with pytest.raises(SystemExit):
        run(made._replace(variants=[*VARIANTS, bad]), runner)
    assert "learning_rate is -1.0" in capsys.readouterr().err
    assert runner.commands == []


def test_a_folder_that_cannot_be_written_is_refused_before_the_first_run(
    made, runner, capsys
):
    pathlib.Path("file").touch()
    with pytest.raises(SystemExit) as ending:
        run(made._replace(out=pathlib.Path("file")), runner)
    assert ending.value.code == 2
    assert "The folder file is not writable (File exists): give --out a folder" in (
        capsys.readouterr().err
    )
    assert runner.commands == []


def test_nobody_who_reads_the_output_ends_the_study(made, runner, monkeypatch):
    monkeypatch.setattr(sys, "stdout", _ClosedOutput())
    assert run(made, runner) == (141, [])
    assert runner.commands == []


def test_results_that_the_disk_does_not_take_are_one_sentence(made, runner, capsys):
    def write(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert study.run(made, 1, write, runner) == 1
    assert capsys.readouterr().err == (
        "The results could not be written to out ([Errno 28] No space left on device): "
        "see to it, and start the study again.\n"
    )


def test_folders_are_named_like_the_script():
    made = study.make("/any/some.py", ["--seeds=1"], study.StudyFlags(seeds=1), [])
    assert made == (
        pathlib.Path("docs/results/some"),
        pathlib.Path("results/some"),
        "python experiments/some.py --seeds=1",
        [],
    )


def test_a_variant_that_is_given_twice_is_refused():
    with pytest.raises(ValueError, match="slow would be run twice: give it once"):
        study.make("some.py", [], study.StudyFlags(), [*VARIANTS, VARIANTS[0]])


def test_a_page_says_how_it_was_made(made, runner):
    run(made, runner)
    study.write_page(made, "Two rates", ["Words."], runs=made.all_runs())
    lines = pathlib.Path("out/table.md").read_text().splitlines()
    assert lines[:3] == ["# Two rates", "", "    python experiments/some.py"]
    assert lines[4].startswith("Python 3.10")
    assert "cores of" in lines[4]
    assert lines[4].endswith("Runs of 2026-09-21.")
    assert lines[5:] == ["", "Words.", "", "Seeds 0."]


def test_one_run_has_no_interval():
    assert study.mean_with_interval([0.5]) == (0.5, None, None)
    assert study.interval_text(0.5, None, None) == "0.50"


def test_no_script_hides_a_package_from_the_others():
    # Python puts a script's own folder first: what lies in it is found before all else.
    names = {path.stem for path in pathlib.Path(study.__file__).parent.glob("*.py")}
    others = [path for path in sys.path if not path.endswith("experiments")]
    found = [name for name in names if PathFinder.find_spec(name, others) is not None]
    assert found == []
