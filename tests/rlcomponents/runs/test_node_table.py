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
