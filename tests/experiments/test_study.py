"""Tests of how a study runs its variants, and what it keeps."""

import dataclasses
import errno
import io
import pathlib
import shutil
import signal
import sys
from importlib.machinery import PathFinder

import pytest

from experiments import study
from launch import suite_plan


@dataclasses.dataclass(frozen=True, kw_only=True)
class PongFlags(study.OneGameFlags):
    """Flags of a study of Pong, if nothing else is asked for."""

    environment: str = "atari:pong"


class _ClosedOutput(io.StringIO):
    """Output that nobody reads."""

    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def run(made, runner):
    written = []
    return study.run(made, written.append, runner), written


def test_each_variant_is_a_suite_of_its_own(made, runner):
    made = made._replace(seeds=2)
    assert run(made, runner) == (0, [made])
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
    files = ("config.json", "evaluation.csv", "origin.json", "summary.json")
    assert kept == [
        f"out/{variant}/runs/catch-0/{name}"
        for variant in ("fast", "slow")
        for name in files
    ]


def test_a_study_has_the_runs_of_its_plan_only(made, runner, leave_run):
    run(made._replace(seeds=2), runner)
    config = {"agent": "dqn", "environment": "catch:blind", "seed": 0}
    leave_run("work/slow/runs/catch_blind-0", config, [(100, 1.0, 0.5)])
    (slow, _) = made.variants
    assert made.runs(slow) == [pathlib.Path("work/slow/runs/catch-0")]
    three = made._replace(seeds=3)
    assert len(three.planned(slow)) == 3
    assert len(three.runs(slow)) == 2  # Those that are complete.


def test_a_study_goes_on_where_the_work_is_lost(made, runner):
    run(made, runner)
    shutil.rmtree("work")
    runner.commands = []
    assert run(made._replace(seeds=2), runner)[0] == 0
    asked = [command["run_dir"] for command in runner.commands]
    assert asked == ["work/slow/runs/catch-1", "work/fast/runs/catch-1"]
    (slow, _) = made.variants
    assert made.runs(slow) == [pathlib.Path("work/slow/runs/catch-0")]


def test_all_variants_are_checked_before_the_first_run(made, runner, capsys):
    bad = study.Variant("bad", "dqn", {"games": "catch", "learning_rate": -1.0})
    with pytest.raises(SystemExit):
        run(made._replace(variants=[*made.variants, bad]), runner)
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

    assert study.run(made, write, runner) == 1
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
        1,
    )


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ("atari:pong", "some"),
        ("pong", "some"),
        ("minatar:breakout", "some_minatar_breakout"),
        ("breakout", "some_atari_breakout"),
    ],
)
def test_an_environment_other_than_the_default_has_folders_of_its_own(
    environment, folder
):
    made = study.make("some.py", [], PongFlags(environment=environment), [])
    assert made.out == pathlib.Path("docs/results", folder)
    assert made.work == pathlib.Path("results", folder)


def test_folders_that_are_given_are_taken_whatever_is_played():
    flags = PongFlags(environment="catch", out="out", work="work")
    made = study.make("some.py", [], flags, [])
    assert (made.out, made.work) == (pathlib.Path("out"), pathlib.Path("work"))


@pytest.mark.parametrize("environment", ["minatar", "catch,catch:blind", "catch,"])
def test_a_study_on_one_environment_is_given_no_other_number(environment):
    sentence = f"--environment is '{environment}': it must be one environment, such as"
    with pytest.raises(ValueError, match=sentence):
        study.make("some.py", [], PongFlags(environment=environment), [])


def test_a_variant_that_is_given_twice_is_refused(made):
    with pytest.raises(ValueError, match="slow would be run twice: give it once"):
        study.make(
            "some.py", [], study.StudyFlags(), [*made.variants, made.variants[0]]
        )


def test_no_script_hides_a_package_from_the_others():
    # Python puts a script's own folder first: what lies in it is found before all else.
    names = {path.stem for path in pathlib.Path(study.__file__).parent.glob("*.py")}
    others = [path for path in sys.path if not path.endswith("experiments")]
    found = [name for name in names if PathFinder.find_spec(name, others) is not None]
    assert found == []
