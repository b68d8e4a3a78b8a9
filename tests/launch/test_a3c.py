import csv
import json
import os
import signal
import time

import numpy as np
import psutil
import pytest

from agents.a3c import config as a3c_config
from launch import a3c
from rlcomponents.runs import checkpoints, run_folder, summary

TINY = ("--environment=catch", "--max_steps=500", "--run_dir=run")
ENDLESS = ("--environment=catch", "--max_steps=10000000", "--run_dir=run")
SERVER = ("--parameter_store=server", "--num_parameter_shards=2")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--parameter_store=local"], "parameter_store is 'local', which threads of o"),
        (["--num_workers=0"], "num_workers is 0: it must be between 1 and 1000."),
        (["--num_workers=300"], "num_workers is 300: it must be at most 255 in shared"),
        (
            ["--whole_episodes", "--envs_per_worker=2"],
            "envs_per_worker is 2: with whole_episodes it must be 1",
        ),
        (["--lstm_size=8"], "lstm_size has no effect here: leave it out, or choose re"),
        (["--num_parameter_shards=2"], "or choose parameter_store=server."),
        (["--algorithm=n_step_q"], "There is no flag --algorithm"),
        (["--preset=foo"], "one of auto, atari, catch, catch:blind, control, minatar."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(empty_folder, refusal, argv, sentence):
    assert sentence in refusal(a3c.main, "--environment=catch", *argv)
    assert list(empty_folder.iterdir()) == []


@pytest.mark.integration
@pytest.mark.parametrize(
    ("flags", "logs"),
    [
        ((), set()),
        (("--recurrent", "--envs_per_worker=3"), set()),
        (SERVER, {"parameters-0", "parameters-1"}),
        (("--lp_launch_type=local_mt",), {"other-threads"}),
        (("--lp_launch_type=local_mt", "--parameter_store=local"), {"other-threads"}),
        (
            # Else a warning names the ports that the launcher has to open.
            ("--lp_launch_type=local_mt", "--node_network=open", *SERVER),
            {"other-threads", "parameters-0", "parameters-1"},
        ),
    ],
    ids=[
        "processes",
        "processes-recurrent",
        "processes-server",
        "threads",
        "threads-local",
        "threads-server",
    ],
)
def test_a_run_ends_by_itself_and_is_evaluated(
    start, node_processes, tmp_path, flags, logs
):
    exit_code, output, errors = start("a3c", tmp_path, *TINY, *flags).wait()
    assert (exit_code, errors) == (0, "")
    assert output.startswith("a3c: ")
    folder = run_folder.RunFolder(tmp_path / "run")
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent) == ("max_steps", "a3c")
    # The budget is overrun by the rollouts that were going on, at most.
    assert 500 <= result.agent_steps <= 500 + 4 * 15
    assert result.updates > 10
    assert result.episodes > 30
    assert result.evaluation_episodes == 30
    with folder.evaluation_csv.open() as file:
        assert list(csv.DictReader(file))[-1]["final"] == "1"
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["agent_steps"] == result.agent_steps
    assert facts["num_parameter_shards"] == (2 if "parameters-0" in logs else 1)
    found = {path.stem for path in folder.logs.glob("*.log")}
    assert found == {"worker-0", "worker-1", "evaluator-0", "coordinator-0", *logs}
    assert [p for p in node_processes(folder).values() if psutil.pid_exists(p)] == []

    script = start("evaluate", tmp_path, "--run_dir=run", "--episodes=3")
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    assert output.startswith(
        f"catch after {result.agent_steps} agent steps, plain, 3 epis"
    )
    assert "drawn actions" in output


@pytest.mark.integration
def test_where_failures_are_to_stop_it_a_killed_worker_leaves_finite_parameters(
    start, has_updates, node_processes, tmp_path
):
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start("a3c", tmp_path, *ENDLESS, "--on_failure=stop")
    script.wait_until(has_updates(folder))
    pids = node_processes(folder)
    os.kill(pids["worker-1"], signal.SIGKILL)
    killed_secs = time.monotonic()
    exit_code, _, errors = script.wait()
    assert time.monotonic() - killed_secs <= 30.0
    assert exit_code == 1
    lines = errors.splitlines()
    assert lines[0].startswith("worker/1 was ended by signal SIGKILL")
    assert lines[-1] == "Log file of worker/1: run/logs/worker-1.log"
    result = summary.read(folder.summary_json)
    assert result.reason == "node died: worker/1"
    states, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["updates"] > 0
    state = states["parameters_0"]
    assert {"parameters", "slots/mean_square"} <= state.keys()
    assert all(np.isfinite(array).all() for array in state.values())
    assert [name for name, pid in pids.items() if psutil.pid_exists(pid)] == []


@pytest.mark.integration
@pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
def test_ctrl_c_saves_and_ends_the_run_with_130(
    start, has_updates, tmp_path, launch_type
):
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start("a3c", tmp_path, *ENDLESS, f"--lp_launch_type={launch_type}")
    script.wait_until(has_updates(folder))
    script.interrupt()
    exit_code, _, errors = script.wait()
    assert (exit_code, errors) == (130, "")
    assert summary.read(folder.summary_json).reason == "interrupted"
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["updates"] > 0


# ----------------------------------------------------------------------------- learning


def evaluations(folder):
    """Returns seconds since the first step, and mean return, of each evaluation."""
    with folder.evaluation_csv.open() as file:
        return [
            (float(row["wall_secs"]), float(row["mean_return"]))
            for row in csv.DictReader(file)
        ]


@pytest.mark.learning
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "store",
    [
        (),
        SERVER,
        ("--parameter_store=local", "--lp_launch_type=local_mt"),
    ],
    ids=["shared_memory", "server", "local"],
)
def test_catch_is_learned_by_the_preset(start, tmp_path, store):
    script = start("a3c", tmp_path, "--environment=catch", "--run_dir=run", *store)
    exit_code, _, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    folder = run_folder.RunFolder(tmp_path / "run")
    assert json.loads(folder.config_json.read_text())["num_workers"] == 2
    assert next(secs for secs, score in evaluations(folder) if score >= 0.9) <= 90.0
    assert summary.read(folder.summary_json).evaluation_return >= 0.9


@pytest.mark.learning
@pytest.mark.timeout(900)
def test_continuous_actions_are_learned_by_the_preset(start, tmp_path):
    flags = ["--environment=control:cartpole:balance", "--max_steps=300000"]
    script = start("a3c", tmp_path, *flags, "--run_dir=run")
    exit_code, _, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    score = summary.read(tmp_path / "run" / "summary.json").evaluation_return
    assert score >= 600.0  # Random actions have 353, and 1,000 is the most.


@pytest.mark.learning
@pytest.mark.timeout(900)
@pytest.mark.parametrize("recurrent", [True, False], ids=["lstm", "feed-forward"])
def test_what_has_to_be_remembered_is_learned_with_a_memory_only(
    start, tmp_path, recurrent
):
    flags = ["--environment=catch:blind", "--run_dir=run", f"--recurrent={recurrent}"]
    script = start("a3c", tmp_path, *flags, "--final_evaluation_episodes=200")
    exit_code, _, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    score = summary.read(tmp_path / "run" / "summary.json").evaluation_return
    if recurrent:
        assert score >= 0.85
    else:
        assert score < 0.5  # 0.2 is the best there is.


def test_the_preset_of_the_memory_task_reaches_back_to_the_cue():
    preset = a3c_config.A3CConfig.PRESETS["catch:blind"]
    assert preset["t_max_steps"] >= 10
