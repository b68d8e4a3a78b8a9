"""Tests of rlcomponents.launching.node_rows."""

import errno
import os
import pathlib

import pytest

from rlcomponents.launching import endings, node_rows, watched
from rlcomponents.runs import node_table
from rlcomponents.testing import fakes


class _Node(watched.Node):
    pid = os.getpid()

    def _start(self) -> None:
        pass

    def poll(self) -> None:
        pass

    def request_stop(self) -> None:
        pass

    def interrupt(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def node(tmp_path: pathlib.Path) -> _Node:
    node = _Node("learner/0", tmp_path / "learner-0.log")
    node.start()
    return node


def _rows(
    path: pathlib.Path, node: watched.Node, clock: fakes.ManualClock
) -> node_rows.NodeRows:
    return node_rows.NodeRows(path, [node], {"learner/0": "127.1.0.1"}, clock=clock)


def _only_row(path: pathlib.Path) -> node_table.NodeRow:
    (row,) = node_table.read(path)
    return row


def test_a_running_node_has_its_process_address_and_memory(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "nodes.json"

    node.signs.take(0.0, 0, False, None, 0.0)

    _rows(path, node, fakes.ManualClock()).write()

    row = _only_row(path)
    assert (row.name, row.state, row.pid) == ("learner/0", "running", os.getpid())
    assert row.host == "127.1.0.1"
    assert row.memory_bytes > 1_000_000


def test_steps_per_second_are_of_the_last_seconds(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    for steps in (*[0] * 11, 10, 20):  # One look a second.
        node.signs.steps = steps
        rows.write()
        clock.secs += 1.0

    # 20 steps came since the look ten seconds before the last.
    assert _only_row(path).steps_per_sec == pytest.approx(2.0)


def test_numbers_that_a_node_shows_are_in_its_row_with_the_rates_of_counts(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    rows.write()
    for updates in (50_000, 50_003, 50_010):  # One that went on with a run.
        clock.secs += 1.0
        numbers = {"updates": updates, "replay_items": 70, "staleness_updates": 1.5}
        node.signs.take(clock.secs, 3, True, None, 0.0, numbers=numbers)
        rows.write()

    row = _only_row(path)
    assert (row.updates, row.replay_items, row.staleness_updates) == (50_010, 70, 1.5)
    assert row.updates_per_sec == pytest.approx(5.0)
    assert (row.agent_steps, row.agent_steps_per_sec) == (None, None)


def test_counts_that_fall_are_no_negative_rates(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    for updates in (100, 40):  # A shard that went back to a snapshot.
        node.signs.take(clock.secs, 3, True, None, 0.0, numbers={"updates": updates})
        rows.write()
        clock.secs += 1.0

    assert _only_row(path).updates_per_sec == 0.0


def test_a_node_that_has_ended_keeps_its_counts_and_has_no_rates(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    node.signs.take(clock.secs, 3, True, None, 0.0, numbers={"updates": 100})
    rows.write()
    clock.secs += 1.0
    node.ended = True
    rows.write()

    row = _only_row(path)
    assert (row.updates, row.updates_per_sec) == (100, None)


def test_a_node_is_starting_until_it_says_otherwise(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "nodes.json"
    rows = _rows(path, node, fakes.ManualClock())
    states = []
    for is_starting in (None, True, False):
        if is_starting is not None:
            node.signs.take(0.0, 0, False, None, 0.0, is_starting=is_starting)
        rows.write()
        states.append(_only_row(path).state)

    assert states == ["starting", "starting", "running"]


def test_a_wait_is_told_with_its_length(node: _Node, tmp_path: pathlib.Path) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    now_secs = clock()
    node.signs.take(now_secs, 3, True, "replay/0: 120 of 1000 items", 12.0)
    clock.secs += 2.0

    _rows(path, node, clock).write()

    row = _only_row(path)
    assert row.waiting_for == "replay/0: 120 of 1000 items"
    assert row.waiting_secs == pytest.approx(14.0)
    assert row.silent_secs == pytest.approx(2.0)


def test_a_node_that_died_has_no_process(node: _Node, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nodes.json"
    node.failure = endings.Failure("failed")
    node.ended = True

    _rows(path, node, fakes.ManualClock()).write()

    row = _only_row(path)
    assert (row.state, row.pid, row.memory_bytes) == ("died", None, 0)


def test_a_node_that_returned_has_ended(node: _Node, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nodes.json"
    node.ended = True

    _rows(path, node, fakes.ManualClock()).write()

    assert _only_row(path).state == "ended"


def test_steps_of_an_earlier_start_do_not_count_in_rates(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    node.signs.steps = 100
    rows.write()
    clock.secs += 1.0
    node.start()
    rows.write()

    assert _only_row(path).steps_per_sec == 0.0
    assert _only_row(path).starts == 1


def test_a_node_that_has_ended_keeps_no_part_of_a_core_busy(
    node: _Node, tmp_path: pathlib.Path
) -> None:
    path, clock = tmp_path / "nodes.json", fakes.ManualClock()
    rows = _rows(path, node, clock)
    rows.write()  # This process has used some time by now.
    node.ended = True
    clock.secs += 1.0

    rows.write()

    assert _only_row(path).cpu_fraction == 0.0


def test_a_process_that_has_ended_uses_nothing() -> None:
    assert node_rows.usage_of(2**22 + 1) == node_rows.Usage(0.0, 0)


def test_a_folder_that_takes_no_more_is_left_to_others_to_tell_of(
    node: _Node, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: pathlib.Path, rows: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "nodes.json"
    rows = _rows(path, node, fakes.ManualClock())
    with monkeypatch.context() as patch:
        patch.setattr(node_table, "write", fail)
        rows.write()
    rows.write()
    assert _only_row(path).name == "learner/0"


def test_whom_a_node_calls_is_in_its_row(node: _Node, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nodes.json"
    calls = {"learner/0": ["replay/0", "parameters/0"]}

    node_rows.NodeRows(path, [node], {}, calls=calls).write()

    assert _only_row(path).calls == ("replay/0", "parameters/0")
