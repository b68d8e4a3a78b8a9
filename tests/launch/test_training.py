"""What all training scripts do, with a launcher that launches nothing."""

import dataclasses
import errno
import json
import os
import shutil

import numpy as np
import pytest

from agents.dqn import config as dqn_config
from agents.dqn import program
from launch import command_line, training
from rlcomponents.launching import endings, graph
from rlcomponents.runs import checkpoints, metrics, run_folder, summary


class Launcher:
    """Stands for `launcher.launch`: notes its arguments, ends as it is told."""

    def __init__(self):
        self.ending = endings.Ending(0, "stopped", "dqn/0")
        self.result = summary.Summary(
            reason="max_steps", environment="catch", agent="dqn", agent_steps=77
        )
        self.launched = []
        self.settings = {}

    def launch(self, launched, run_dir, **settings):
        self.launched.append(launched)
        self.settings = settings
        if self.result is not None:
            summary.write(run_folder.RunFolder(run_dir).summary_json, self.result)
        if "on_tick" in settings:
            settings["on_tick"]()
            settings["on_end"]()
        return self.ending


@pytest.fixture
def launched(monkeypatch):
    made = Launcher()
    monkeypatch.setattr(training.launcher, "launch", made.launch)
    return made


def main(argv):
    return training.main(
        argv,
        agent="dqn",
        description="A test.",
        config_class=dqn_config.DQNConfig,
        build_program=program.build_program,
    )


# ------------------------------------------------------------------------- a good run


def test_flags_arrive_in_every_node_and_in_the_run_folder(launched, empty_folder):
    assert main(["--environment=catch", "--seed=7", "--run_dir=run"]) == 0
    [built] = launched.launched
    for _, node in graph.named_nodes(built):
        config, run_dir, *_ = node._args
        assert (config.seed, config.environment) == (7, "catch")
        assert run_dir == str(empty_folder / "run")
    saved = json.loads((empty_folder / "run" / "config.json").read_text())
    assert (saved["agent"], saved["seed"]) == ("dqn", 7)
    names = {field.name for field in dataclasses.fields(dqn_config.DQNConfig)}
    assert saved.keys() - {"agent"} == names


def test_the_run_folder_is_named_after_agent_and_environment(launched, empty_folder):
    main(["--environment=catch"])
    [folder] = (empty_folder / "runs").iterdir()
    assert folder.name.startswith("dqn-catch-")


def test_the_preset_can_be_chosen(launched, empty_folder):
    main(["--environment=minatar:breakout", "--preset=catch", "--run_dir=run"])
    config = json.loads((empty_folder / "run" / "config.json").read_text())
    assert config["max_steps"] == dqn_config.DQNConfig.PRESETS["catch"]["max_steps"]


@pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
def test_the_launch_type_arrives(launched, empty_folder, launch_type):
    main(["--environment=catch", f"--lp_launch_type={launch_type}"])
    assert launched.settings["launch_type"] == launch_type


def test_the_graph_is_shown_once_then_the_view_then_what_came_of_it(
    launched, empty_folder, capsys
):
    launched.result = summary.Summary(
        reason="max_steps",
        environment="catch",
        agent="dqn",
        agent_steps=4_000,
        updates=3_600,
        evaluation_return=0.5,
        evaluation_episodes=30,
        evaluation_standard_error=0.125,
        evaluation_agent_steps=4_000,
        best_evaluation_return=0.75,
        best_evaluation_episodes=1,
        best_evaluation_agent_steps=3_000,
    )
    argv = ["--environment=catch", "--max_steps=1000", "--min_replay_items=200"]
    main([*argv, "--run_dir=run"])
    output, errors = capsys.readouterr()
    lines = output.splitlines()
    assert lines[:3] == [
        "dqn: 1 node",
        "  dqn  x 1",
        "environment catch, run folder run",
    ]
    assert lines[3].startswith("Learning starts at 100 transitions")
    assert lines[4].startswith("starting: ")
    assert lines[-4:] == [
        "Ended (max_steps): 4,000 agent steps, 3,600 updates.",
        "Evaluation after 4,000 agent steps: mean return 0.50 ± 0.12 over 30 episodes.",
        "Best evaluation, after 3,000 agent steps: mean return 0.75 over 1 episodes.",
        "Curve: run/curve.png",
    ]
    assert errors == ""
    assert (empty_folder / "run" / "curve.png").stat().st_size > 1_000


def test_how_failures_are_taken_arrives(launched, empty_folder):
    main(["--environment=catch", "--on_failure=stop", "--hang_timeout_secs=60"])
    assert launched.settings["on_failure"] == "stop"
    assert launched.settings["hang_timeout_secs"] == 60.0


def test_threads_and_gpus_arrive(launched, empty_folder, monkeypatch):
    monkeypatch.setattr(training.placement, "has_cpu_build", lambda: False)
    main(["--environment=catch", "--compute_threads=dqn:2", "--gpus=dqn:0"])
    variables = launched.settings["environment"]["dqn"]
    assert variables["OMP_NUM_THREADS"] == "2"
    assert variables["CUDA_VISIBLE_DEVICES"] == "0"


def test_restarts_are_in_the_summary_and_on_the_screen(launched, empty_folder, capsys):
    restart = endings.Restart("dqn/0", "was ended", "2026-01-01T00:00:00+00:00", 1, 0.5)
    launched.ending = launched.ending._replace(restarts=(restart, restart))
    assert main(["--environment=catch", "--run_dir=run"]) == 0
    result = summary.read(empty_folder / "run" / "summary.json")
    assert (result.reason, result.agent_steps) == ("max_steps", 77)
    assert (
        result.restarts
        == [
            {
                "node": "dqn/0",
                "cause": "was ended",
                "time": "2026-01-01T00:00:00+00:00",
                "starts": 1,
                "pause_secs": 0.5,
            }
        ]
        * 2
    )
    assert "Started again: dqn/0 (2 x)." in capsys.readouterr().out


def test_restarts_are_in_the_summary_of_a_run_that_failed_too(launched, empty_folder):
    restart = endings.Restart("dqn/0", "was ended", "2026-01-01T00:00:00+00:00", 1, 0.5)
    launched.ending = endings.Ending(1, "node died", "dqn/0", "dqn/0 died", (restart,))
    launched.result = None
    assert main(["--environment=catch", "--run_dir=run"]) == 1
    result = summary.read(empty_folder / "run" / "summary.json")
    assert [each["node"] for each in result.restarts] == ["dqn/0"]


def test_quiet_prints_only_what_came_of_the_run(launched, empty_folder, capsys):
    main(["--environment=catch", "--quiet", "--run_dir=run"])
    assert "on_tick" not in launched.settings
    result = ["Ended (max_steps): 77 agent steps, 0 updates.", "Curve: run/curve.png"]
    assert capsys.readouterr().out.splitlines() == result
    save_checkpoint("run", 50)
    main(["--quiet", "--resume=run"])
    assert capsys.readouterr().out.splitlines() == result


# ----------------------------------------------------------------------- other endings


def test_an_interruption_is_in_the_summary_with_what_was_done(
    launched, empty_folder, capsys
):
    launched.ending = endings.Ending(130, "interrupted")
    assert main(["--environment=catch", "--run_dir=run"]) == 130
    result = summary.read(empty_folder / "run" / "summary.json")
    assert (result.reason, result.agent_steps) == ("interrupted", 77)
    assert "Ended (interrupted): 77 agent steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agent_steps", "reason"), [(100, "max_steps"), (99, "interrupted")]
)
def test_an_interruption_of_a_run_that_was_complete_is_not_its_ending(
    launched, empty_folder, agent_steps, reason
):
    # With fewer steps the summary is that of before the run went on to more.
    launched.result = dataclasses.replace(launched.result, agent_steps=agent_steps)
    launched.ending = endings.Ending(130, "interrupted")
    assert main(["--environment=catch", "--run_dir=run", "--max_steps=100"]) == 130
    assert summary.read(empty_folder / "run" / "summary.json").reason == reason


def test_a_death_is_in_the_summary_and_its_lines_stay_the_last(
    launched, empty_folder, capsys
):
    launched.ending = endings.Ending(1, "node died", "bundle/1", "bundle/1 failed")
    launched.result = None  # It died before anything was written.
    assert main(["--environment=catch", "--run_dir=run"]) == 1
    result = summary.read(empty_folder / "run" / "summary.json")
    assert (result.reason, result.agent_steps) == ("node died: bundle/1", 0)
    assert (result.agent, result.environment) == ("dqn", "catch")
    assert "Ended" not in capsys.readouterr().out
    assert (empty_folder / "run" / "curve.png").exists()


def test_output_that_nobody_reads_ends_the_run_without_a_traceback(
    launched, empty_folder, monkeypatch, capsys
):
    def tick(view):
        raise BrokenPipeError

    monkeypatch.setattr(training.progress.ProgressView, "tick", tick)
    assert main(["--environment=catch", "--run_dir=run"]) == 141
    result = summary.read(empty_folder / "run" / "summary.json")
    assert (result.reason, result.agent_steps) == ("output closed", 77)
    assert capsys.readouterr().err == ""


def test_a_run_folder_that_is_gone_does_not_hide_the_death(
    launched, empty_folder, monkeypatch, capsys
):
    def launch(launched, run_dir, **settings):
        shutil.rmtree(run_dir)
        return endings.Ending(1, "node died", "coordinator/0", "coordinator/0 failed")

    monkeypatch.setattr(training.launcher, "launch", launch)
    assert main(["--environment=catch", "--run_dir=run"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Summary and curve could not be written: ")
    assert "No such file or directory" in line


def test_a_result_that_cannot_be_written_is_no_success(
    launched, empty_folder, monkeypatch, capsys
):
    def plot(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training.curve, "plot", plot)
    assert main(["--environment=catch", "--quiet"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Summary and curve could not be written: ")


# --------------------------------------------------------------------------- bad input


def test_a_folder_that_holds_a_run_is_refused(launched, empty_folder, refusal, capsys):
    main(["--environment=catch", "--run_dir=run", "--quiet"])
    before = (empty_folder / "run" / "config.json").read_bytes()
    capsys.readouterr()
    sentence = refusal(main, "--environment=catch", "--run_dir=run")
    assert sentence.startswith("The run folder run already holds a run")
    assert (empty_folder / "run" / "config.json").read_bytes() == before


@pytest.mark.parametrize("path", ["/proc/run", "file", "file/run"])
def test_a_folder_that_cannot_be_written_is_refused(
    launched, empty_folder, refusal, path
):
    (empty_folder / "file").write_text("")
    sentence = refusal(main, "--environment=catch", f"--run_dir={path}")
    assert sentence.startswith(f"The run folder {path} is ")
    assert launched.launched == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("guessing:mak", "has no 'mak' (did you mean 'make'?)."),
        ("guesing:make", "'module:guesing:make': no module 'guesing' in the current"),
        ("guessing", "'module:guessing' does not name a function"),
        ("guessing:make_broken", "raised IndexError: list index out of range (/"),
        ("guessing:Raising", "raised ZeroDivisionError: of the game (/"),
        ("guessing:Faulty", "The reward is nan at step 1"),
        ("guessing:Continuous", "a Q-network values each of a finite number of act"),
        ("unfinished:make", "raised IndentationError: expected an indented block"),
        ("needy:make", "raised ModuleNotFoundError: No module named 'no_such_package'"),
        ("math:sin", "float is no dm_env.Environment"),
    ],
)
def test_a_users_environment_that_does_not_work_is_refused(
    launched, users_game, empty_folder, refusal, name, sentence
):
    before = set(empty_folder.iterdir())
    assert sentence in refusal(main, f"--environment=module:{name}")
    assert {x for x in empty_folder.iterdir() if x.name != "__pycache__"} <= before
    assert launched.launched == []


def test_a_users_environment_that_works_is_launched(launched, users_game):
    assert main([f"--environment={users_game}"]) == 0
    assert len(launched.launched) == 1


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--optimiser=adam", "--adagrad_initial_accumulator=1"], "has no effect here"),
        (["--network=nature_dqn"], "no channel axis"),
        (["--network=resnet"], "network is 'resnet': it must be one of auto, "),
        (["--terminal_on_life_loss"], "catch has no setting 'terminal_on_life_loss'"),
        (["--num_bundles=2"], "There is no flag --num_bundles"),
        (["--on_failure=retry"], "--on_failure=retry is not known: use restart"),
        (["--hang_timeout_secs=1"], "--hang_timeout_secs=1 is too short to tell"),
        (["--compute_threads=actor:2"], "names the role 'actor': the program has dqn."),
        (["--gpus=dqn:0"], "--gpus=dqn:0 would do nothing: the TensorFlow that is"),
        (["--gpus=dqn:first"], "gives dqn the number 'first': give a whole number"),
        (
            ["--gpus=dqn:0", "--lp_launch_type=local_mt"],
            "--gpus is for nodes in processes of their own",
        ),
        (
            ["--on_failure=restart", "--lp_launch_type=local_mt"],
            "--on_failure=restart needs nodes in processes of their own",
        ),
        (["--node_network=closed"], "--node_network=closed is not supported: use auto"),
        (
            ["--node_network=private", "--lp_launch_type=local_mt"],
            "--node_network=private needs nodes in processes of their own",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    launched, empty_folder, refusal, argv, sentence
):
    assert sentence in refusal(main, "--environment=catch", *argv)
    assert launched.launched == []
    assert list(empty_folder.iterdir()) == []


def test_bad_input_has_an_exit_code_of_its_own():
    assert command_line.BAD_INPUT_EXIT_CODE == 2
    assert endings.NODE_DIED != command_line.BAD_INPUT_EXIT_CODE


# ------------------------------------------------------------------ a run that goes on


def save_checkpoint(run_dir, agent_steps):
    """Saves what a run of one store saves."""
    checkpoints.save(
        run_folder.RunFolder(run_dir).checkpoints,
        agent_steps=agent_steps,
        parts={"parameters_0": {"parameters": np.zeros(3, np.float32)}},
        facts={"agent_steps": agent_steps, "updates": 40, "num_parameter_shards": 1},
    )


@pytest.fixture
def interrupted(launched, empty_folder):
    """The folder of a run that was interrupted at 50 steps."""
    main(["--environment=catch", "--run_dir=run", "--seed=7"])
    save_checkpoint("run", 50)
    metrics.MetricsWriter(
        run_folder.RunFolder("run").evaluation_csv, metrics.EVALUATION_COLUMNS
    ).write({"agent_steps": 50, "mean_return": 1.0, "final": 1})
    launched.launched.clear()
    return empty_folder / "run"


def test_a_resumed_run_has_the_settings_that_it_had_but_for_those_given(
    launched, interrupted, capsys
):
    capsys.readouterr()
    assert main(["--resume=run", "--learning_rate=0.5"]) == 0
    [built] = launched.launched
    for _, node in graph.named_nodes(built):
        config, run_dir, *_ = node._args
        assert (config.seed, config.learning_rate) == (7, 0.5)
        assert run_dir == str(interrupted)
    saved = json.loads((interrupted / "config.json").read_text())
    assert (saved["seed"], saved["learning_rate"]) == (7, 0.5)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "Resuming from run/checkpoints/step_000000000050: 50 agent steps, 40 updates; "
        "learning_rate is now 0.5 (was 0.05)."
    )


@pytest.mark.parametrize("reason", ["interrupted", "running"])
def test_a_complete_run_whose_summary_does_not_say_so_is_ended_by_resuming_it(
    launched, empty_folder, capsys, reason
):
    flags = ["--environment=catch", "--run_dir=run", "--max_steps=50"]
    launched.result = dataclasses.replace(launched.result, reason=reason)
    main(flags)
    save_checkpoint("run", 50)
    metrics.MetricsWriter(
        run_folder.RunFolder("run").evaluation_csv, metrics.EVALUATION_COLUMNS
    ).write({"agent_steps": 50, "mean_return": 1.0, "final": 1})
    launched.result = dataclasses.replace(launched.result, reason="max_steps")
    capsys.readouterr()
    assert main(["--resume=run"]) == 0
    assert "Ended (max_steps)" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):  # That was all.
        main(["--resume=run"])


def test_restarts_of_every_part_of_a_run_are_in_its_summary(launched, interrupted):
    restart = endings.Restart("dqn/0", "was ended", "2026-01-01T00:00:00+00:00", 1, 0.5)
    launched.ending = launched.ending._replace(restarts=(restart,))
    main(["--resume=run"])
    launched.ending = launched.ending._replace(
        restarts=(restart._replace(cause="failed"),)
    )
    main(["--resume=run"])
    result = summary.read(interrupted / "summary.json")
    assert [each["cause"] for each in result.restarts] == ["was ended", "failed"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--run_dir=other"], "leave out --run_dir=other"),
        (["--preset=catch"], "leave out --preset=catch"),
        (["--environment=minatar:breakout"], "was 'catch' and is now 'minatar:break"),
        (["--n_step=3"], "n_step was 1 and is now 3"),
        (["--max_steps=50"], "has taken 50 of its 50 steps: give a larger --max_steps"),
        (["--batch_size=0"], "batch_size is 0"),
        (["--optimiser_decay=0.5"], "has no effect here"),
        (["--lp_launch_type=test_mp"], "is for tests"),
    ],
)
def test_a_resume_that_is_refused_changes_nothing(
    launched, interrupted, refusal, capsys, flags, sentence
):
    capsys.readouterr()
    before = (interrupted / "config.json").read_text()
    assert sentence in refusal(main, "--resume=run", *flags)
    assert (interrupted / "config.json").read_text() == before
    assert list((interrupted / "state").iterdir()) == []
    assert launched.launched == []


def test_a_folder_without_a_run_is_not_resumed(launched, empty_folder, refusal):
    assert "holds no run" in refusal(main, "--resume=nowhere")
    (empty_folder / "empty").mkdir()
    assert "holds no run" in refusal(main, "--resume=empty")
    assert list((empty_folder / "empty").iterdir()) == []


def test_a_run_that_is_going_on_is_not_resumed(launched, interrupted, refusal, capsys):
    capsys.readouterr()
    with run_folder.RunFolder("run").held():
        assert "still going on" in refusal(main, "--resume=run")
    main(["--resume=run"])
    assert len(launched.launched) == 1


def test_a_run_holds_its_folder_while_it_goes_on(launched, empty_folder):
    def look(launched_program, run_dir, **settings):
        with pytest.raises(ValueError, match="still going on"):
            run_folder.RunFolder(run_dir).held().__enter__()
        return launched.ending

    training.launcher.launch, before = look, training.launcher.launch
    try:
        main(["--environment=catch", "--run_dir=run"])
        save_checkpoint("run", 50)
        main(["--resume=run"])
    finally:
        training.launcher.launch = before
    with run_folder.RunFolder("run").held():
        pass


def test_a_folder_that_cannot_be_made_ready_is_a_matter_of_one_sentence(
    launched, interrupted, refusal, capsys, monkeypatch
):
    capsys.readouterr()

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert "could not be made ready" in refusal(main, "--resume=run")
    assert launched.launched == []
