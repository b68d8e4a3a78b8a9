import csv
import dataclasses
import json
import os
import signal
import threading
import time
import unittest

import launchpad as lp
import psutil
import pytest

from agents.dqn import config as dqn_config
from agents.gorila_dqn import config as gorila_config
from agents.gorila_dqn import program as gorila_program
from launch import gorila_dqn, training
from rlcomponents.launching import endings
from rlcomponents.runs import checkpoints, run_folder, summary

pytestmark = pytest.mark.timeout(300)  # Whole programs start and end in here.

CENTRAL = (
    "--mode=central",
    "--num_actors=2",
    "--num_replay_shards=2",
    "--num_learners=2",
    "--num_parameter_shards=3",
)
TINY = ("--environment=catch", "--max_steps=500", "--batch_size=8", "--run_dir=run")
ENDLESS = ("--environment=catch", "--max_steps=10000000", "--run_dir=run")


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--environment=atari:pongg"], "Unknown atari game 'pongg' (did you mean 'po"),
        (["--environment=atary:pong"], "there is no suite 'atary' (did you mean 'atar"),
        (["--environment="], "--environment is '': it must be text."),
        (["--mode=central", "--num_actors=0"], "num_actors is 0: it must be between 1"),
        (["--num_bundles=1000000000"], "num_bundles is 1000000000: it must be between"),
        (
            ["--batch_size=200", "--max_replay_items=100"],
            "batch_size is 200: it must be at most max_replay_items (100)",
        ),
        (
            ["--initial_epsilon=-0.1"],
            "initial_epsilon is -0.1: it must be between 0 an",
        ),
        (["--learning_rate=nan"], "learning_rate is nan: it must be above 0."),
        (["--learning_rate=inf"], "learning_rate is inf: it must be at most 1e+37."),
        (["--discount=1.5"], "discount is 1.5: it must be between 0 and 1."),
        (["--optimiser_decay=1"], "optimiser_decay is 1.0: it must be 0 or more, and"),
        (["--max_replay_items=1" + "0" * 30], "it must be at most 9007199254740992."),
        (["--seed=1" + "0" * 30], "it must be at most 9007199254740992."),
        (["--max_steps=1e6"], "--max_steps is '1e6': it must be a whole number."),
        (["--num_bundle=2"], "There is no flag --num_bundle: did you mean --num_bundl"),
        (["--seed=1", "--seed=2"], "--seed is given twice: give it once."),
        (["--preset=foo"], "preset is 'foo': it must be one of auto, atari, catch, mi"),
        (["--mode=centrl"], "mode is 'centrl': it must be one of bundled, central."),
        (
            ["--num_actors=3"],
            "num_actors has no effect here: leave it out, or choose m",
        ),
        (["--mode=central", "--num_bundles=3"], "or choose mode=bundled."),
        (
            ["--mode=central", "--num_replay_shards=3", "--num_actors=2"],
            "num_replay_shards is 3: it must be at most num_actors (2)",
        ),
        (["--lp_launch_type=test_mt"], "is for tests, which call lp.launch with a"),
        (["--lp_launch_type=vertex_ai"], "--lp_launch_type=vertex_ai is not supported"),
        (["--run_dir=/proc/run"], "The run folder /proc/run is not writable"),
        (["--environment=module:nowhere:make"], "no module 'nowhere' in the current"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_before_anything_starts(
    monkeypatch, empty_folder, refusal, argv, sentence
):
    def launch(*args, **kwargs):
        raise AssertionError("Something was launched.")

    monkeypatch.setattr(training.launcher, "launch", launch)
    if not argv[0].startswith("--environment"):
        argv = ["--environment=catch", *argv]
    assert sentence in refusal(gorila_dqn.main, *argv)
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "groups"),
    [
        (["--num_bundles=3"], {"bundle": 3, "parameters": 2}),
        (
            ["--mode=central", "--num_actors=3", "--num_learners=2"],
            {"actor": 3, "learner": 2, "replay": 1},
        ),
    ],
)
def test_flags_arrive_in_the_program(monkeypatch, empty_folder, argv, groups):
    launched = []

    def launch(program, run_dir, **settings):
        launched.append(program)
        return endings.Ending(130, "interrupted")

    monkeypatch.setattr(training.launcher, "launch", launch)
    argv = ["--environment=catch", "--seed=7", "--quiet", *argv]
    assert gorila_dqn.main(argv) == 130
    [program] = launched
    for group, size in groups.items():
        assert len(program.groups[group]) == size
    for node in (*program.groups["parameters"], *program.groups["evaluator"]):
        assert node._args[0].seed == 7


# ------------------------------------------------------------------- the whole program


def check_run(folder, config):
    """Checks all that a run leaves behind."""
    result = json.loads(folder.summary_json.read_text())
    assert result.keys() == {each.name for each in dataclasses.fields(summary.Summary)}
    assert result["reason"] == "max_steps"
    assert (result["agent"], result["environment"]) == ("gorila_dqn", "catch")
    assert config.max_steps <= result["agent_steps"] <= 1.5 * config.max_steps
    assert result["environment_frames"] == result["agent_steps"]
    assert result["updates"] > 100
    assert result["evaluation_episodes"] == config.final_evaluation_episodes
    assert -1.0 <= result["evaluation_return"] <= 1.0
    assert result["episodes"] > 30
    for rate in ("wall_secs", "steps_per_sec", "frames_per_sec", "updates_per_sec"):
        assert result[rate] > 0.0
    assert result["restarts"] == []

    assert json.loads(folder.config_json.read_text())["max_steps"] == config.max_steps
    with folder.evaluation_csv.open() as file:
        assert list(csv.DictReader(file))[-1]["final"] == "1"
    with folder.program_csv.open() as file:
        steps = [int(row["agent_steps"]) for row in csv.DictReader(file)]
    assert steps == sorted(steps)
    assert steps[-1] == result["agent_steps"]
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["updates"] >= result["updates"]
    assert facts["num_parameter_shards"] == config.num_parameter_shards
    assert list(folder.tensorboard.glob("events.*"))
    assert folder.curve_png.stat().st_size > 1_000


def _launched_as(launch_type):
    flags = [f"--lp_launch_type={launch_type}"]
    if launch_type == "local_mt":  # Else a warning names the ports that it has to open.
        flags.append("--node_network=open")
    return flags


@pytest.mark.integration
@pytest.mark.parametrize(
    ("launch_type", "mode", "workers"),
    [
        ("local_mp", (), ["bundle-0", "bundle-1"]),
        ("local_mp", CENTRAL, ["actor-0", "actor-1", "learner-0", "learner-1"]),
        ("local_mt", (), ["bundle-0", "bundle-1"]),
        ("local_mt", CENTRAL, ["actor-0", "actor-1", "learner-0", "learner-1"]),
    ],
    ids=[
        "processes-bundled",
        "processes-central",
        "threads-bundled",
        "threads-central",
    ],
)
def test_a_run_ends_by_itself_and_leaves_everything_in_its_folder(
    start, node_processes, tmp_path, launch_type, mode, workers
):
    exit_code, output, errors = start(
        "gorila_dqn", tmp_path, *TINY, *_launched_as(launch_type), *mode
    ).wait()
    assert (exit_code, errors) == (0, "")  # No chatter either.
    lines = output.splitlines()
    assert lines[0].startswith("gorila_dqn: ")
    assert lines[-1] == "Curve: run/curve.png"
    assert not [line for line in lines if "tensorflow" in line or "grpc" in line]

    folder = run_folder.RunFolder(tmp_path / "run")
    settings = json.loads(folder.config_json.read_text())
    assert settings.pop("agent") == "gorila_dqn"
    check_run(folder, gorila_config.GorilaConfig(**settings))
    found = {path.stem for path in folder.metrics.glob("*.csv")}
    assert found == {*workers, "program"}
    logs = {path.stem for path in folder.logs.glob("*.log")}
    assert {*workers, "evaluator-0", "coordinator-0", "parameters-0"} <= logs
    assert psutil.Process().children() == []
    if launch_type == "local_mp":
        pids = node_processes(folder)
        assert len(pids) == len(logs)
        assert [name for name, pid in pids.items() if psutil.pid_exists(pid)] == []


@pytest.mark.integration
def test_the_program_runs_under_launchpads_test_type(tmp_path):
    config = gorila_config.GorilaConfig(
        **{
            **dqn_config.DQNConfig.PRESETS["catch"],
            "environment": "catch",
            "max_steps": 300,
            "batch_size": 8,
            "final_evaluation_episodes": 5,
        }
    )
    folder = run_folder.RunFolder.create(tmp_path / "run")
    folder.write_config({"agent": "gorila_dqn", "environment": "catch"})
    program = gorila_program.build_program(config, str(folder.path))
    ended = threading.Event()

    def wait_for_end():
        lp.stop_event().wait()
        ended.set()

    program.add_node(lp.PyNode(wait_for_end), label="waiter")
    test_case = unittest.TestCase()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGALRM)
    previous = {number: signal.getsignal(number) for number in signals}
    try:
        lp.launch(
            program,
            launch_type="test_mt",
            test_case=test_case,
            serialize_py_nodes=False,
        )
        assert ended.wait(90.0)
        test_case.doCleanups()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    result = summary.read(folder.summary_json)
    assert result.reason == "max_steps"
    assert result.agent_steps >= 300
    assert result.evaluation_episodes == 5


# ------------------------------------------------------------------------ other endings


@pytest.mark.integration
@pytest.mark.parametrize(
    ("mode", "group"),
    [((), "bundle"), (CENTRAL, "learner")],
    ids=["bundled", "central"],
)
def test_where_failures_are_to_stop_it_a_killed_node_ends_the_run_and_is_named(
    start, has_updates, node_processes, tmp_path, mode, group
):
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start("gorila_dqn", tmp_path, *ENDLESS, "--on_failure=stop", *mode)
    script.wait_until(has_updates(folder))
    pids = node_processes(folder)
    os.kill(pids[f"{group}-1"], signal.SIGKILL)
    killed_secs = time.monotonic()
    exit_code, _, errors = script.wait()
    assert time.monotonic() - killed_secs <= 30.0
    assert exit_code == 1
    lines = errors.splitlines()
    assert lines[0].startswith(f"{group}/1 was ended by signal SIGKILL")
    assert lines[-1] == f"Log file of {group}/1: run/logs/{group}-1.log"
    result = summary.read(folder.summary_json)
    assert result.reason == f"node died: {group}/1"
    assert result.restarts == []
    assert result.updates > 0
    assert checkpoints.latest(folder.checkpoints) is not None
    assert [name for name, pid in pids.items() if psutil.pid_exists(pid)] == []


@pytest.mark.integration
@pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
def test_ctrl_c_saves_and_ends_the_run_with_130(
    start, has_updates, node_processes, tmp_path, launch_type
):
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start("gorila_dqn", tmp_path, *ENDLESS, *_launched_as(launch_type))
    script.wait_until(has_updates(folder))
    pids = node_processes(folder)
    script.interrupt()
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (130, "")
    assert "Ended (interrupted): " in output
    assert summary.read(folder.summary_json).reason == "interrupted"
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["updates"] > 0
    assert folder.curve_png.exists()
    assert [name for name, pid in pids.items() if psutil.pid_exists(pid)] == []


@pytest.mark.integration
def test_a_users_own_environment_is_learned_and_evaluated(
    start, users_game, empty_folder
):
    argv = (f"--environment={users_game}", "--max_steps=500", "--run_dir=run")
    exit_code, _, errors = start("gorila_dqn", empty_folder, *argv).wait()
    assert (exit_code, errors) == (0, "")
    result = summary.read(empty_folder / "run" / "summary.json")
    assert result.environment == users_game
    assert result.evaluation_episodes == 30
    script = start("evaluate", empty_folder, "--run_dir=run", "--episodes=5")
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (0, "")  # No chatter here either.
    assert output.startswith(f"{users_game} after 50")
    assert "5 episodes" in output


# ----------------------------------------------------------------------------- learning


@pytest.mark.learning
@pytest.mark.parametrize("mode", [(), CENTRAL], ids=["bundled", "central"])
def test_catch_is_learned_by_the_preset(start, tmp_path, mode):
    script = start(
        "gorila_dqn", tmp_path, "--environment=catch", "--run_dir=run", *mode
    )
    exit_code, _, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    result = summary.read(tmp_path / "run" / "summary.json")
    assert result.evaluation_return >= 0.8
