"""Tests of adding up the rows of all workers."""

import tracemalloc

import numpy as np
import pytest

from rlcomponents.nodes import worker_totals
from rlcomponents.runs import metrics, run_folder


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


def report(folder, node, **row):
    writer = metrics.MetricsWriter(
        folder.metrics / f"{node}.csv", metrics.WORKER_COLUMNS
    )
    writer.write(row)
    writer.close()


def test_counts_grow_by_what_each_life_adds(folder):
    totals = worker_totals.WorkerTotals(folder, {})
    for episodes in (5, 0, 3):
        report(folder, "bundle-0", episodes=episodes)
        totals.read_new()
    assert totals.count("episodes") == 8


def test_counts_begin_with_what_the_program_had_said(folder):
    report(folder, "bundle-0", episodes=5)
    totals = worker_totals.WorkerTotals(folder, {"episodes": 9.0})
    assert totals.count("episodes") == 9
    report(folder, "bundle-0", episodes=7)
    totals.read_new()
    assert totals.count("episodes") == 11


def test_recent_returns_are_recent_in_time_whatever_the_node_is_called(folder):
    report(folder, "a-1", time_secs=2.0, episodes=100, episode_return=1.0)
    report(folder, "b-1", time_secs=1.0, episodes=100, episode_return=0.0)
    assert worker_totals.WorkerTotals(folder, {}).recent_return == 1.0


def test_a_return_counts_also_where_the_count_of_games_fell(folder):
    totals = worker_totals.WorkerTotals(folder, {})
    report(folder, "bundle-0", episodes=3, episode_return=1.0)
    report(folder, "bundle-0", episodes=1, episode_return=5.0)
    totals.read_new()
    assert totals.recent_return == 2.0


def test_rows_that_were_there_before_are_not_new(folder):
    report(folder, "bundle-0", episodes=3)
    totals = worker_totals.WorkerTotals(folder, {})
    report(folder, "bundle-0", episodes=4)
    assert [(name, row["episodes"]) for name, row in totals.read_new()] == [
        ("bundle-0", 4.0)
    ]


def test_replays_of_nodes_that_are_gone_are_not_counted(folder):
    for index in range(2):
        report(folder, f"bundle-{index}", replay_items=7)
    totals = worker_totals.WorkerTotals(folder, {})
    assert totals.replay_items == 0
    report(folder, "bundle-0", replay_items=8)
    totals.read_new()
    assert totals.replay_items == 8


def test_recent_returns_of_files_of_days_are_the_last_of_all_nodes(folder):
    totals = worker_totals.WorkerTotals(folder, {})
    rng = np.random.default_rng(0)
    episodes = dict.fromkeys(("a", "b", "c"), 0)
    for time_secs in range(120):
        node = str(rng.choice(list(episodes)))
        episodes[node] += int(rng.integers(1, 8))
        value = float(rng.normal())
        row = {"episodes": episodes[node], "episode_return": value}
        report(folder, node, time_secs=float(time_secs), **row)
        totals.read_new()
    later = worker_totals.WorkerTotals(folder, {})
    assert later.recent_return == totals.recent_return
    assert later.count("episodes") == sum(episodes.values())


def test_memory_does_not_grow_with_the_rows_that_were_there_before(folder):
    columns = metrics.WORKER_COLUMNS
    fields = {"time_secs": 1.5, "episodes": 1, "episode_return": 0.5}
    line = ",".join(str(fields.get(column, "")) for column in columns)
    path = folder.metrics / "bundle-0.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([",".join(columns), *[line] * 20_000, ""]))
    tracemalloc.start()
    try:
        totals = worker_totals.WorkerTotals(folder, {})
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()
    assert totals.recent_return == 0.5
