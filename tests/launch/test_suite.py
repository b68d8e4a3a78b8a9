"""Tests of the script that runs a suite, mostly with runs that run nothing."""

import csv
import dataclasses
import errno
import os
import pathlib
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

from agents import run_config
from agents.dqn import config as dqn_config
from launch import suite, suite_plan
from rlcomponents.evaluation import suite_origins, suite_tables
from rlcomponents.runs import checkpoints, metrics, run_folder, summary

FLAGS = ("--agent=dqn", "--games=catch,catch:blind", "--seeds=2", "--out=results")
ORIGIN = suite_origins.Origin("Python 3", "A", "2026-11-30", "abc")


class FakeRunner:
    """Runs nothing: leaves the folder that a run leaves, and notes what was asked."""

    def __init__(self, *reasons):
        self.signal = None
        self.reasons = list(reasons)
        self.commands = []

    def receive(self, number):
        self.signal = number

    def run(self, command):
        given = dict(word[2:].split("=", 1) for word in command[2:])
        self.commands.append(given)
        reason = self.reasons.pop(0) if self.reasons else "max_steps"
        if "resume" in given:
            folder = run_folder.RunFolder(given["resume"])
        else:
            folder = run_folder.RunFolder.create(given["run_dir"])
            config = run_config.make_config(
                dqn_config.DQNConfig,
                {"environment": given["environment"], "seed": int(given["seed"])},
            )
            folder.write_config({"agent": "dqn", **dataclasses.asdict(config)})
        if reason == "killed":
            return -signal.SIGKILL
        writer = metrics.MetricsWriter(
            folder.evaluation_csv, metrics.EVALUATION_COLUMNS
        )
        writer.write({"agent_steps": 10, "mean_return": 0.5})
        ending = summary.Summary(reason=reason, environment="catch", agent="dqn")
        summary.write(folder.summary_json, ending)
        if reason == "interrupted":
            save_checkpoint(folder)
            self.signal = signal.SIGINT
            return 130
        return 0 if reason == "max_steps" else 1


def save_checkpoint(folder):
    checkpoints.save(
        folder.checkpoints,
        agent_steps=50,
        parts={"parameters_0": {"parameters": np.zeros(3, np.float32)}},
        facts={"agent_steps": 50, "updates": 40, "num_parameter_shards": 1},
    )


@pytest.fixture
def run(empty_folder, monkeypatch):
    """Runs a suite with runs that end for these reasons; returns what was asked."""

    def run(*reasons, flags=FLAGS):
        runner = FakeRunner(*reasons)
        monkeypatch.setattr(suite, "ProcessRunner", lambda: runner)
        return suite.main(list(flags)), runner.commands

    return run


def rows():
    with open("results/table.csv") as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------------- what it runs


def test_each_game_is_run_with_each_seed_in_a_folder_of_its_own(run, capsys):
    flags = (*FLAGS, "--checkpoint_period_secs=10.0", "--node_network=open")
    exit_code, commands = run(flags=flags)
    assert exit_code == 0
    assert commands == [
        {
            "node_network": "open",
            "checkpoint_period_secs": "10.0",
            "preset": "auto",
            "environment": game,
            "seed": seed,
            "run_dir": f"results/runs/{name}-{seed}",
        }
        for game, name in (("catch", "catch"), ("catch:blind", "catch_blind"))
        for seed in ("0", "1")
    ]
    assert [row["seeds_complete"] for row in rows()] == ["2", "2"]
    text = (pathlib.Path("results/table.md")).read_text()
    assert "launch/suite.py --agent=dqn --games=catch,catch:blind --seeds=2" in text
    assert capsys.readouterr().out.splitlines() == [
        "1 of 4: catch with seed 0, in results/runs/catch-0.",
        "2 of 4: catch with seed 1, in results/runs/catch-1.",
        "3 of 4: catch:blind with seed 0, in results/runs/catch_blind-0.",
        "4 of 4: catch:blind with seed 1, in results/runs/catch_blind-1.",
        "Table: results/table.md",
    ]


@pytest.mark.parametrize(
    ("games", "environments"),
    [
        ("pong, breakout", ["atari:pong", "atari:breakout"]),
        ("catch", ["catch"]),
        ("minatar:asterix,pong", ["minatar:asterix", "atari:pong"]),
        (
            "minatar",
            [
                "minatar:asterix",
                "minatar:breakout",
                "minatar:freeway",
                "minatar:seaquest",
                "minatar:space_invaders",
            ],
        ),
    ],
)
def test_short_names_of_games(run, games, environments):
    _, commands = run(flags=("--agent=dqn", f"--games={games}", "--seeds=1", "--out=o"))
    assert [command["environment"] for command in commands] == environments


# ------------------------------------------------------------------------- going on


def test_an_interrupted_suite_goes_on_where_it_stopped(run, capsys):
    exit_code, commands = run("max_steps", "interrupted")
    assert (exit_code, len(commands)) == (130, 2)
    assert [row["seeds_complete"] for row in rows()] == ["1", "0"]
    assert "To go on: python launch/suite.py --agent=dqn" in capsys.readouterr().out
    exit_code, commands = run()
    assert exit_code == 0
    assert commands[0] == {"resume": "results/runs/catch-1"}
    assert [command.get("run_dir") for command in commands[1:]] == [
        "results/runs/catch_blind-0",
        "results/runs/catch_blind-1",
    ]
    assert "1 of 4: catch with seed 0 is complete." in capsys.readouterr().out
    assert run() == (0, [])  # All of it is complete.


def test_a_run_that_ended_without_a_checkpoint_begins_anew(run):
    run("killed")
    leftover = pathlib.Path("results/runs/catch-0/logs/leftover")
    # What it had left is gone; else the run would refuse the folder.
    assert not leftover.exists()
    leftover.parent.mkdir(exist_ok=True)
    leftover.touch()
    _, commands = run()
    assert commands[0]["run_dir"] == "results/runs/catch-0"
    assert not leftover.exists()


def test_a_run_says_what_it_was_first_started_with(run, monkeypatch):
    first, second = pathlib.Path("results/runs/catch-0"), ORIGIN._replace(machine="B")
    monkeypatch.setattr(suite_plan, "origin", lambda: ORIGIN)
    run("interrupted")
    monkeypatch.setattr(suite_plan, "origin", lambda: second)
    run("killed")  # Goes on with what was interrupted.
    assert suite_origins.read(first) == ORIGIN
    assert suite_origins.read(first.with_name("catch-1")) == second
    text = pathlib.Path("results/table.md").read_text()
    assert "\n\nPython 3, on B, commit abc.\n\n" in text  # Of those complete.


def test_a_disk_that_takes_no_origin_ends_no_suite(run, monkeypatch, capsys):
    def write(path, origin):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(suite_origins, "write", write)
    assert run()[0] == 0
    assert "CANNOT WRITE results/runs/catch-0" in capsys.readouterr().out
    assert "4 runs: no record of" in pathlib.Path("results/table.md").read_text()


def test_a_run_that_fails_is_named_and_the_others_are_run(run, capsys):
    exit_code, commands = run("max_steps", "node died: dqn/0")
    assert (exit_code, len(commands)) == (1, 4)
    output, errors = capsys.readouterr()
    assert errors == "catch with seed 1 has failed (exit code 1).\n"
    assert output.splitlines()[-1] == (
        "Failed, and to be tried again: catch with seed 1."
    )
    assert [row["seeds_complete"] for row in rows()] == ["1", "2"]
    exit_code, commands = run()
    assert (exit_code, len(commands)) == (0, 1)


def test_a_table_that_the_disk_does_not_take_ends_no_suite(run, capsys, monkeypatch):
    def write(folder, runs, provenance):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(suite_tables, "write", write)
    exit_code, commands = run()
    assert (exit_code, len(commands)) == (1, 4)
    output, errors = capsys.readouterr()
    assert "Table: " not in output
    assert errors.splitlines()[-1] == (
        "The table could not be written ([Errno 28] No space left on device): see to "
        "it, and start the suite again."
    )


def test_nobody_who_reads_the_output_ends_the_suite(run, monkeypatch):
    monkeypatch.setattr(FakeRunner, "run", lambda self, command: 141)
    assert run()[0] == 141


def test_a_signal_between_two_runs_starts_no_other(empty_folder, monkeypatch):
    runner = FakeRunner()
    runner.signal = signal.SIGTERM
    monkeypatch.setattr(suite, "ProcessRunner", lambda: runner)
    assert suite.main(list(FLAGS)) == 143
    assert runner.commands == []


def test_a_process_gets_the_signal_that_the_suite_gets(empty_folder, tmp_path):
    runner = suite.ProcessRunner()
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"os.kill({os.getpid()}, signal.SIGUSR1)\n"
        "signal.pause()\n"
    )
    before = signal.signal(signal.SIGUSR1, lambda *_: runner.receive(signal.SIGTERM))
    try:
        assert runner.run([sys.executable, "-c", script]) == 7
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert runner.signal == signal.SIGTERM


class SignalledRunner(suite.ProcessRunner):
    """Gets a signal right after somebody has looked whether there was one."""

    @property
    def signal(self):
        seen = self._signal
        if self._is_watched:
            self._is_watched = False
            self.receive(signal.SIGTERM)
        return seen

    @signal.setter
    def signal(self, number):
        self._signal = number

    _is_watched = False


class FakeProcess:
    """Stands for a process: notes what it is sent."""

    def __init__(self):
        self.signals = []

    def send_signal(self, number):
        self.signals.append(number)

    def wait(self):
        return 0


@pytest.mark.parametrize("moment", ["before", "while it starts", "right after"])
def test_a_signal_at_any_moment_of_a_start_reaches_the_process_once(
    monkeypatch, moment
):
    runner, process = SignalledRunner(), FakeProcess()

    def start(command, **settings):
        if moment == "while it starts":
            runner.receive(signal.SIGTERM)
        runner._is_watched = moment == "right after"
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    if moment == "before":
        runner.receive(signal.SIGTERM)
    assert runner.run(["a command"]) == 0
    assert process.signals == [signal.SIGTERM]


def test_a_suite_that_is_killed_takes_its_run_along(tmp_path):
    script = (
        "import sys\n"
        "from launch import suite\n"
        "run = 'import os, signal; print(os.getpid(), flush=True); signal.pause()'\n"
        "suite.ProcessRunner().run([sys.executable, '-c', run])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    with process:
        pid = int(process.stdout.readline())
        descriptor = os.pidfd_open(pid)
        try:
            process.kill()
            process.wait()
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            has_ended = poll.poll(30_000)
            if not has_ended:
                os.kill(pid, signal.SIGKILL)
            assert has_ended
        finally:
            os.close(descriptor)


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "--agent is None: it must be one of a3c, async_q, dqn, gorila_dqn."),
        (["--agent=ppo"], "--agent is 'ppo': it must be one of a3c, async_q"),
        (["--agent=dqn", "--out=o"], "--games is missing"),
        (["--agent=dqn", "--games=catch"], "--out is missing"),
        ([*FLAGS, "--seeds=0"], "--seeds is given twice"),
        (["--agent=dqn", "--games=catch", "--out=o", "--seeds=0"], "at least 1"),
        (["--agent=dqn", "--games=pogn", "--out=o"], "did you mean 'pong'"),
        (["--agent=dqn", "--games=catch,,", "--out=o"], "has an empty name"),
        (["--agent=dqn", "--games=pong,atari:pong", "--out=o"], "has atari:pong twice"),
        ([*FLAGS, "--environment=catch"], "give --games for those of a suite"),
        ([*FLAGS, "--seed=3"], "give --seeds for those of a suite"),
        ([*FLAGS, "--batch_size=0"], "batch_size is 0"),
        ([*FLAGS, "--bath_size=8"], "did you mean --batch_size"),
        ([*FLAGS, "--optimiser_decay=0.5"], "has no effect here"),
        ([*FLAGS, "--lp_launch_type=test_mp"], "is for tests"),
        ([*FLAGS, "--run_dir=here"], "There is no flag --run_dir"),
        (["--agent=a3c", "--games=pong", "--out=o", "--batch_size=8"], "no flag"),
    ],
)
def test_bad_input_is_refused_before_the_first_run(
    empty_folder, refusal, flags, sentence
):
    assert sentence in refusal(suite.main, *flags)
    assert list(empty_folder.iterdir()) == []


def test_other_settings_do_not_come_into_the_table_of_a_suite(run, refusal, capsys):
    run("interrupted")
    capsys.readouterr()
    sentence = refusal(suite.main, *FLAGS, "--batch_size=8")
    assert "catch-0 holds a run with batch_size 32 rather than 8: give the " in sentence
    run_folder.RunFolder("results/runs/catch-0").write_config({"agent": "a3c"})
    sentence = refusal(suite.main, *FLAGS)
    assert "catch-0 holds a run with agent 'a3c' rather than 'dqn': give " in sentence


def test_two_suites_do_not_run_in_one_folder(run, refusal, capsys):
    run()
    capsys.readouterr()
    with run_folder.RunFolder("results/runs").held():
        assert "is still going on" in refusal(suite.main, *FLAGS)


def test_help_lists_the_settings_of_the_agent(capsys):
    for flags in (["--help"], ["--agent=a3c", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            suite.main(flags)
        text = capsys.readouterr().out
        assert "--games" in text
        assert ("--entropy_cost" in text) == (len(flags) == 2)


# ------------------------------------------------------------------------- real runs


@pytest.mark.integration
@pytest.mark.timeout(400)
def test_a_suite_that_is_interrupted_and_gone_on_with(start, tmp_path):
    flags = (
        "--agent=dqn",
        "--games=catch",
        "--seeds=2",
        "--out=results",
        "--max_steps=3000",
        "--min_replay_items=50",
        "--evaluation_episodes=2",
        "--final_evaluation_episodes=3",
        "--checkpoint_period_secs=1",
    )
    first, second = (
        run_folder.RunFolder(tmp_path / "results" / "runs" / f"catch-{seed}")
        for seed in (0, 1)
    )
    suite_process = start("suite", tmp_path, *flags)
    suite_process.wait_until(
        lambda: checkpoints.latest(first.checkpoints) is not None, timeout_secs=180
    )
    suite_process.interrupt()
    exit_code, output, errors = suite_process.wait()
    assert exit_code == 130, (output, errors)
    assert summary.read(first.summary_json).reason == "interrupted"
    assert not second.path.exists()
    steps_before = summary.read(first.summary_json).agent_steps

    exit_code, output, errors = start("suite", tmp_path, *flags).wait()
    assert exit_code == 0, (output, errors)
    assert f"Resuming from {first.path.relative_to(tmp_path)}" in output
    for folder in (first, second):
        result = summary.read(folder.summary_json)
        assert (result.reason, result.evaluation_episodes) == ("max_steps", 3)
        assert result.agent_steps >= 3000 > steps_before
    with (tmp_path / "results" / "table.csv").open() as file:
        [row] = csv.DictReader(file)
    assert (row["game"], row["seeds_complete"]) == ("catch", "2")

    exit_code, output, _ = start("suite", tmp_path, *flags).wait()
    assert exit_code == 0
    assert output.splitlines() == [
        "1 of 2: catch with seed 0 is complete.",
        "2 of 2: catch with seed 1 is complete.",
        "Table: results/table.md",
    ]
