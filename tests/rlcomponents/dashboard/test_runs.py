"""Tests of rlcomponents.dashboard.runs."""

import dataclasses
import os
import shutil

import pytest

from rlcomponents.dashboard import runs
from rlcomponents.runs import metrics, node_table, run_folder, summary

NOW_SECS = 1_000_000.0
ACTOR = node_table.NodeRow(
    name="actor/0",
    state="running",
    log_path="logs/actor-0.log",
    pid=7,
    steps=5,
    agent_steps_per_sec=30.0,
    agent_steps=900.0,
    cpu_fraction=0.5,
    memory_bytes=1_000,
    calls=("replay/0", "replay/1", "parameters/0"),
)
OTHER = dataclasses.replace(
    ACTOR,
    name="actor/1",
    pid=8,
    agent_steps_per_sec=10.0,
    waiting_for="replay/0",
    waiting_secs=3.0,
)


class Run:
    """A run folder, and what the page is told of it."""

    def __init__(self, path):
        self.folder = run_folder.RunFolder.create(path)
        self.folder.write_config(
            {"agent": "dqn", "environment": "catch", "seed": 3, "max_steps": 1_000}
        )
        self.watched = runs.WatchedRun(path, "run", clock=lambda: NOW_SECS)

    def has_nodes(self, *rows, age_secs=1.0):
        node_table.write(self.folder.nodes_json, rows)
        written_secs = NOW_SECS - age_secs
        os.utime(self.folder.nodes_json, (written_secs, written_secs))

    def has_come_to(self, reason):
        summary.write(
            self.folder.summary_json,
            summary.Summary(reason=reason, environment="catch", agent="dqn"),
        )

    def status(self):
        overview = self.watched.overview()
        return overview["status"], overview["level"]


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "run")


def test_a_run_is_named_with_what_it_is(run):
    overview = run.watched.overview()
    assert overview["name"] == "run"
    assert overview["agent"] == "dqn"
    assert overview["environment"] == "catch"
    assert overview["seed"] == 3


def test_a_run_that_has_not_begun_is_said_so(run):
    assert run.status() == ("has not begun", "busy")
    details = run.watched.details()
    assert details["problems"] == []
    assert details["nodes"] == []
    assert details["totals"] is None
    assert details["evaluation"] is None


def test_a_run_goes_on_while_its_table_is_rewritten(run):
    run.has_come_to("max_steps")  # Before it was resumed.
    run.has_nodes(dataclasses.replace(ACTOR, state="starting"))
    assert run.status() == ("starting", "good")
    run.has_nodes(ACTOR)
    assert run.status() == ("running", "good")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("max_steps", ("ended: max_steps", "done")),
        ("node died: actor/0", ("ended: node died: actor/0", "bad")),
        # Its launcher was killed.
        ("running", ("broke off, 2:05 ago", "bad")),
    ],
)
def test_a_run_that_has_ended_says_why(run, reason, status):
    run.has_come_to(reason)
    run.has_nodes(ACTOR, age_secs=125.0)
    assert run.status() == status


def test_a_run_whose_nodes_have_ended_is_over_at_once(run):
    run.has_come_to("max_steps")
    run.has_nodes(dataclasses.replace(ACTOR, state="ended"))
    assert run.status() == ("ended: max_steps", "done")


def test_a_run_that_is_gone_is_a_sentence(run):
    shutil.rmtree(run.folder.path)
    assert run.status() == ("is gone", "bad")
    [sentence] = run.watched.details()["problems"]
    assert sentence.endswith("is gone: it was moved or deleted.")
    assert run.watched.curve("evaluation", "updates", None)["points"] == []


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("nodes.json", b'[{"name": "ac', "nodes.json is no table of nodes"),
        ("nodes.json", b"\xff", "The table of nodes cannot be read: 'utf-8'"),
        ("metrics/program.csv", b"a,b\n1\n", "has a line of 1 fields"),
        ("evaluation.csv", b"a,b\n1\n", "has a line of 1 fields"),
        ("evaluation.csv", b"a,b\n1,\0\n", "The evaluations cannot be read: line"),
        ("config.json", b"", "is not readable as JSON"),
        ("config.json", b"[1]", "The settings cannot be read: "),
    ],
)
def test_what_is_half_written_is_a_sentence(run, file, content, sentence):
    (run.folder.path / file).write_bytes(content)
    for _ in range(2):  # Not only the first time.
        [problem] = run.watched.details()["problems"]
        assert sentence in problem
        assert "\n" not in problem
    run.watched.overview()


def test_a_node_has_its_words_its_log_and_its_numbers(run):
    (run.folder.logs / "actor-0.log").touch()
    run.has_nodes(ACTOR, OTHER)
    first, second = run.watched.details()["nodes"]
    assert first == {
        "name": "actor/0",
        "pid": 7,
        "words": "running",
        "level": "good",
        "log": "actor-0",
        "steps_per_sec": 0.0,
        "agent_steps_per_sec": 30.0,
        "agent_steps": 900.0,
        "cpu_fraction": 0.5,
        "memory_bytes": 1_000,
    }
    assert (second["words"], second["level"]) == ("waits for replay/0", "busy")


def test_a_group_sums_what_its_nodes_do_and_names_whom_they_call(run):
    run.has_nodes(ACTOR, OTHER)
    [group] = run.watched.details()["groups"]
    assert group["name"] == "actor"
    assert group["calls"] == ["replay", "parameters"]
    assert group["levels"] == ["good", "busy"]
    assert group["agent_steps_per_sec"] == 40.0
    assert group["cpu_fraction"] == 1.0


def test_shards_use_memory_each_but_do_updates_together(run):
    shards = [
        node_table.NodeRow(
            name=f"parameters/{index}",
            state="running",
            log_path="",
            pid=index + 1,
            updates_per_sec=50.0,
            memory_bytes=100,
            staleness_updates=index,
        )
        for index in (0, 1)
    ]
    run.has_nodes(*shards)
    [group] = run.watched.details()["groups"]
    assert group["updates_per_sec"] == 50.0
    assert group["memory_bytes"] == 200
    assert group["staleness_updates"] == 0.5


def test_nodes_in_threads_share_what_they_use(run):
    run.has_nodes(ACTOR, dataclasses.replace(OTHER, pid=7))
    details = run.watched.details()
    assert details["process"] == {"cpu_fraction": 0.5, "memory_bytes": 1_000}
    assert all("memory_bytes" not in node for node in details["nodes"])


def test_nodes_of_a_run_that_broke_off_are_not_said_to_work(run):
    run.has_nodes(ACTOR, age_secs=60.0)
    [node] = run.watched.details()["nodes"]
    assert (node["words"], node["level"]) == ("was running", "bad")
    assert "agent_steps_per_sec" not in node
    assert node["agent_steps"] == 900.0
    assert node["pid"] is None


def test_totals_are_of_the_last_row(run):
    writer = metrics.MetricsWriter(run.folder.program_csv, metrics.PROGRAM_COLUMNS)
    for steps in (100, 200):
        writer.write({"agent_steps": steps, "discarded_stale": 2, "discarded_lost": 3})
    details = run.watched.details()
    assert details["max_steps"] == 1_000
    assert details["totals"]["agent_steps"] == 200.0
    assert details["totals"]["discarded"] == 5.0


def test_a_curve_comes_only_when_it_is_new(run):
    writer = metrics.MetricsWriter(
        run.folder.evaluation_csv, metrics.EVALUATION_COLUMNS
    )
    writer.write({"agent_steps": 100, "mean_return": 1.5, "standard_error": 0.5})
    first = run.watched.curve("evaluation", "agent_steps", None)
    assert first["points"] == [(100.0, 1.5, 0.5)]
    same = run.watched.curve("evaluation", "agent_steps", first["version"])
    assert same == {"version": first["version"]}


def test_a_curve_that_is_missing_says_why(run):
    answer = run.watched.curve("evaluation", "agent_steps", None)
    assert answer == {"version": None, "points": [], "problem": "no evaluation yet"}


def test_a_log_that_is_none_is_a_sentence(run):
    answer = run.watched.log("../config", None)
    assert answer == {"problem": "There is no log '../config' in this run."}
