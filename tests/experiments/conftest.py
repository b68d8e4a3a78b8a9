"""Runs that run nothing, for the studies: each leaves the files of a run."""

import dataclasses
import pathlib

import pytest

from agents import run_config
from experiments import costs, study
from launch import command_line, saved_runs
from rlcomponents.launching import endings
from rlcomponents.runs import metrics, run_folder, summary

ENDED_SECS = 1_790_000_000.0
"""When the runs ended: on 21 September 2026, in all time zones."""


VARIANTS = [
    study.Variant("slow", "dqn", {"games": "catch", "learning_rate": 0.01}),
    study.Variant("fast", "dqn", {"games": "catch", "learning_rate": 0.1}),
]


class FakeRunner:
    """Runs nothing: leaves what a run leaves, with evaluations of the test's choice.

    Attributes:
        commands: Flags of each run that was asked for.
        evaluate: Returns `(agent_steps, wall_secs, mean_return)` of each evaluation of
            a run, from its flags; None: the run fails.
        signal: As of `suite.Runner`.
    """

    def __init__(self):
        self.signal = None
        self.commands = []
        self.evaluate = lambda flags: [(100, 2.0, 0.25), (200, 4.0, 0.75)]

    def receive(self, number):
        self.signal = number

    def run(self, command):
        flags = dict(word[2:].split("=", 1) for word in command[2:])
        self.commands.append(flags)
        evaluations = self.evaluate(flags)
        if evaluations is None:
            return endings.NODE_DIED
        agent = pathlib.Path(command[1]).stem
        config_class = saved_runs.AGENT_CONFIGS[agent]
        given = command_line.parse(command[2:], "", config_class=config_class)
        config = run_config.make_config(config_class, given.settings)
        leave_files(
            flags["run_dir"],
            {"agent": agent, **dataclasses.asdict(config)},
            evaluations,
        )
        return endings.FINISHED


def leave_files(path, config, evaluations):
    """Leaves the files of a complete run, and a log."""
    folder = run_folder.RunFolder.create(path)
    folder.write_config(config)
    (folder.logs / "worker-0.log").write_text("Much.")
    writer = metrics.MetricsWriter(folder.evaluation_csv, metrics.EVALUATION_COLUMNS)
    for steps, secs, mean in evaluations:
        writer.write(
            {
                "time_secs": ENDED_SECS,
                "wall_secs": secs,
                "agent_steps": steps,
                "mean_return": mean,
            }
        )
    writer.close()
    steps, secs, _ = evaluations[-1]
    ending = summary.Summary(
        reason="max_steps",
        environment=config["environment"],
        agent=config["agent"],
        agent_steps=steps,
        wall_secs=secs,
        steps_per_sec=50.0,
    )
    summary.write(folder.summary_json, ending)


@pytest.fixture
def runner(monkeypatch, tmp_path):
    """What runs the runs of a study, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    fake = FakeRunner()
    monkeypatch.setattr(costs, "MeasuringRunner", lambda: fake)
    return fake


@pytest.fixture
def leave_run():
    """Leaves the files of a complete run, from its folder, config and evaluations."""
    return leave_files


@pytest.fixture
def made():
    """A study of two variants."""
    flags = study.StudyFlags(out="out", work="work", seeds=1)
    return study.make("some.py", [], flags, VARIANTS)
