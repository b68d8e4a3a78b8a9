"""Tests of files that appear whole or not at all."""

import os

import pytest

from rlcomponents.runs import atomic_files


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "facts.json"
    path.write_text("old")
    atomic_files.write_json(path, {"a": [1, None]})
    assert path.read_text() == '{\n  "a": [\n    1,\n    null\n  ]\n}\n'
    assert os.listdir(tmp_path) == ["facts.json"]


@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_a_failure_leaves_the_old_contents(tmp_path, monkeypatch, function):
    path = tmp_path / "facts.json"
    path.write_text("old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="disk full"):
        atomic_files.write_bytes(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["facts.json"]


def test_the_contents_reach_the_disk_before_the_name_does(tmp_path, monkeypatch):
    calls = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: (calls.append("fsync"), fsync(descriptor))
    )
    monkeypatch.setattr(
        os, "rename", lambda old, new: (calls.append("rename"), rename(old, new))
    )
    atomic_files.write_bytes(tmp_path / "facts", b"1")
    assert calls == ["fsync", "rename", "fsync"]  # File, name, folder.


def test_a_nan_is_refused_because_json_has_none(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        atomic_files.write_json(tmp_path / "facts.json", {"loss": float("nan")})
    assert not os.listdir(tmp_path)


def test_what_need_not_last_through_a_power_cut_is_not_forced_to_the_disk(
    tmp_path, monkeypatch
):
    def refuse(descriptor):
        raise AssertionError("Forced to the disk.")

    monkeypatch.setattr(os, "fsync", refuse)
    path = tmp_path / "state.json"
    path.write_text("old")
    atomic_files.write_json(path, 7, lasting=False)
    assert path.read_text() == "7\n"
    assert os.listdir(tmp_path) == ["state.json"]
