"""Tests of rlcomponents.runs.node_table."""

import pathlib

import pytest

from rlcomponents.runs import node_table


def test_what_is_written_is_read_back(tmp_path: pathlib.Path) -> None:
    row = node_table.NodeRow(
        name="learner/0",
        state="running",
        log_path="logs/learner-0.log",
        pid=7,
        steps=3,
        waiting_for="replay/0: 120 of 1000 items",
    )

    node_table.write(tmp_path / "nodes.json", [row])

    assert node_table.read(tmp_path / "nodes.json") == [row]


def test_a_program_that_has_not_started_has_no_rows(tmp_path: pathlib.Path) -> None:
    assert node_table.read(tmp_path / "nodes.json") == []


def test_another_file_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nodes.json").write_text('[{"colour": "red"}]')

    with pytest.raises(ValueError, match=r"nodes\.json is no table of nodes"):
        node_table.read(tmp_path / "nodes.json")


def _row(name: str = "actor/0", **fields: object) -> node_table.NodeRow:
    settings = {"state": "running", "log_path": "", **fields}
    return node_table.NodeRow(name=name, **settings)  # type: ignore[arg-type]


def test_whom_a_node_calls_is_read_back(tmp_path: pathlib.Path) -> None:
    row = _row(calls=("replay/0", "parameters/0"))

    node_table.write(tmp_path / "nodes.json", [row])

    assert node_table.read(tmp_path / "nodes.json") == [row]


def test_a_table_without_calls_is_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nodes.json").write_text(
        '[{"name": "actor/0", "state": "running", "log_path": ""}]'
    )

    assert node_table.read(tmp_path / "nodes.json") == [_row()]


def test_a_list_of_something_else_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nodes.json").write_text("[1]")

    with pytest.raises(ValueError, match=r"nodes\.json is no table of nodes"):
        node_table.read(tmp_path / "nodes.json")


@pytest.mark.parametrize(
    ("pids", "are_threads"),
    [
        ([7, 7], True),
        ([7, 8], False),
        ([7], False),
        ([None, None], False),
        ([7, None], False),  # The others of a program of processes have ended.
        ([None, 7], False),
    ],
)
def test_nodes_of_one_process_are_threads(
    pids: list[int | None], are_threads: bool
) -> None:
    rows = [_row(pid=pid) for pid in pids]
    assert node_table.are_threads(rows) is are_threads


@pytest.mark.parametrize(
    ("row", "words", "level"),
    [
        (_row(), "running", "good"),
        (_row(waiting_for="replay/0", waiting_secs=0.5), "running", "good"),
        (_row(waiting_for="replay/0", waiting_secs=1.0), "waits for replay/0", "busy"),
        (_row(steps=1, silent_secs=11.0), "silent for 11 s", "bad"),
        (_row(silent_secs=11.0), "running", "good"),  # It still loads its libraries.
        (_row(state="died", starts=2), "died, restarted 2x", "bad"),
        (_row(state="ended", silent_secs=99.0), "ended", "good"),
    ],
)
def test_the_condition_of_a_node_is_judged(
    row: node_table.NodeRow, words: str, level: str
) -> None:
    assert node_table.condition(row) == (words, level)


def test_shards_do_together_as_many_updates_as_one() -> None:
    shards = [_row(f"parameters/{index}", updates=10.0) for index in (0, 1)]
    workers = [_row(f"worker/{index}", updates=10.0) for index in (0, 1)]

    assert node_table.total_of_work(shards, "updates") == 10.0
    assert node_table.total_of_work(workers, "updates") == 20.0


def test_what_no_node_counts_has_no_total_and_no_mean() -> None:
    assert node_table.total([_row()], "updates") is None
    assert node_table.mean([_row()], "updates") is None


def test_the_mean_is_over_those_that_count() -> None:
    rows = [_row(), _row(staleness_updates=1.0), _row(staleness_updates=4.0)]

    assert node_table.mean(rows, "staleness_updates") == 2.5
