"""Tests of summary.json."""

import dataclasses
import json
import os

import numpy as np
import pytest

from rlcomponents.runs import summary

# Other programs read these names.
KEYS = [
    "reason",
    "environment",
    "agent",
    "agent_steps",
    "environment_frames",
    "updates",
    "discarded_stale",
    "discarded_outlier",
    "discarded_nonfinite",
    "mean_staleness_updates",
    "episodes",
    "train_return",
    "evaluation_return",
    "evaluation_episodes",
    "evaluation_standard_error",
    "evaluation_agent_steps",
    "best_evaluation_return",
    "best_evaluation_episodes",
    "best_evaluation_standard_error",
    "best_evaluation_agent_steps",
    "wall_secs",
    "steps_per_sec",
    "frames_per_sec",
    "updates_per_sec",
    "restarts",
]

FINISHED = summary.Summary(
    reason="max_steps reached",
    environment="catch",
    agent="dqn",
    agent_steps=100,
    train_return=0.5,
    restarts=[{"node": "actor_0"}],
)


def test_the_file_has_the_published_keys(tmp_path):
    summary.write(tmp_path / "summary.json", FINISHED)
    assert list(json.loads((tmp_path / "summary.json").read_text())) == KEYS


def test_a_summary_that_is_soon_replaced_is_not_forced_to_the_disk(
    tmp_path, monkeypatch
):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "summary.json"
    summary.write(path, FINISHED, lasting=False)
    assert synced == []
    assert summary.read(path) == FINISHED
    summary.write(path, FINISHED)
    assert len(synced) == 2  # The file, and its name in the folder.


def test_a_summary_comes_back_as_it_was(tmp_path):
    summary.write(tmp_path / "summary.json", FINISHED)
    assert summary.read(tmp_path / "summary.json") == FINISHED


def test_numbers_that_json_lacks_become_null(tmp_path):
    path = tmp_path / "summary.json"
    summary.write(
        path,
        dataclasses.replace(
            FINISHED,
            train_return=float("nan"),
            evaluation_return=np.float32("nan"),
            steps_per_sec=float("inf"),
            updates=np.int64(3),
        ),
    )
    fields = json.loads(path.read_text())
    assert fields["train_return"] is None
    assert fields["evaluation_return"] is None
    assert fields["steps_per_sec"] is None
    assert fields["updates"] == 3


def test_an_ending_changes_only_the_reason_of_a_summary(tmp_path):
    path = tmp_path / "summary.json"
    summary.write(path, FINISHED)
    summary.set_ending(path, "actor_1 failed", agent="x", environment="y")
    assert summary.read(path) == dataclasses.replace(FINISHED, reason="actor_1 failed")


def test_an_ending_before_any_summary_writes_one_without_steps(tmp_path):
    path = tmp_path / "summary.json"
    summary.set_ending(path, "interrupted", agent="dqn", environment="catch")
    assert json.loads(path.read_text()) == dict.fromkeys(KEYS, 0) | {
        "reason": "interrupted",
        "environment": "catch",
        "agent": "dqn",
        "train_return": None,
        "evaluation_return": None,
        "evaluation_standard_error": None,
        "best_evaluation_return": None,
        "best_evaluation_standard_error": None,
        "restarts": [],
    }


@pytest.mark.parametrize("text", ["{", '{"reason": "x"}', "[]"])
def test_a_file_that_is_no_summary_is_refused(tmp_path, text):
    path = tmp_path / "summary.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is not the summary of a run"):
        summary.read(path)


def test_restarts_are_recorded_and_all_else_is_kept(tmp_path):
    path = tmp_path / "summary.json"
    before = summary.Summary(reason="max_steps", environment="catch", agent="dqn")
    summary.write(path, before)
    summary.set_restarts(path, [{"node": "dqn/0"}])
    assert summary.read(path) == dataclasses.replace(
        before, restarts=[{"node": "dqn/0"}]
    )
