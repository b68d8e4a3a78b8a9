"""Tests of rlcomponents.replay.saves, on folders without Reverb."""

import errno
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from rlcomponents import pulse
from rlcomponents.replay import saves


@pytest.fixture
def write(tmp_path):
    """Publishes a save whose one file holds some bytes."""

    def make(content, num_items):
        written = saves.saving(tmp_path) / "2026"
        written.mkdir(parents=True)
        (written / "items").write_bytes(content)
        return saves.publish(written, tmp_path, num_items)

    return make


def test_the_newest_save_is_the_only_one_left(tmp_path, write):
    for number in range(12):  # Beyond 9: the order is that of numbers, not of words.
        save = write(b"%d" % number, num_items=number)
    assert saves.newest(tmp_path) == save
    assert saves.saved_items(tmp_path) == 11
    assert [path.name for path in tmp_path.glob("saved-*")] == ["saved-11"]
    saves.check(save)


def test_there_is_no_save_in_a_folder_without_one(tmp_path):
    assert saves.newest(tmp_path / "nowhere") is None
    assert saves.saved_items(tmp_path) is None


def test_a_save_that_was_cut_off_does_not_count(tmp_path, write):
    save = write(b"whole", num_items=3)
    (saves.saving(tmp_path) / "2027").mkdir(parents=True)
    (tmp_path / "saved-7").mkdir()  # Without its facts.
    assert saves.newest(tmp_path) == save
    saves.tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["saved-0"]


def test_a_save_is_on_the_disk_before_the_older_one_goes(tmp_path, write, monkeypatch):
    write(b"old", num_items=1)
    calls = []

    def note(function, describe):
        def noted(*args, **kwargs):
            calls.append(describe(*args))
            return function(*args, **kwargs)

        return noted

    def synced(descriptor):
        name = pathlib.Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        return "sync", "facts" if name.startswith(".saved.json") else name

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", note(os.fsync, synced))
        patch.setattr(
            os, "rename", note(os.rename, lambda old, new: ("rename", new.name))
        )
        patch.setattr(
            shutil, "rmtree", note(shutil.rmtree, lambda path: ("remove", path.name))
        )
        write(b"new", num_items=2)
    assert calls == [
        ("sync", "items"),
        ("sync", "facts"),
        ("rename", "saved.json"),
        ("sync", "2026"),  # The names in the folder; once more before it is renamed.
        ("sync", "2026"),
        ("rename", "saved-1"),
        ("sync", tmp_path.name),
        ("remove", "saved-0"),
    ]


@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_a_disk_that_takes_no_more_leaves_the_save_before(
    tmp_path, write, monkeypatch, function
):
    before = write(b"old", num_items=1)

    def fail(*args):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(OSError, match="disk full"):
            write(b"new", num_items=2)
    assert saves.newest(tmp_path) == before
    saves.check(before)


@pytest.mark.parametrize("text", ["", '{"num_items": 7', "[]", "{}"])
def test_a_save_that_a_power_cut_tore_is_skipped_for_the_one_before(
    tmp_path, write, text
):
    save = write(b"whole", num_items=3)
    torn = tmp_path / "saved-1"
    torn.mkdir()
    (torn / "saved.json").write_text(text)
    assert saves.newest(tmp_path) == save


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(lambda file: file.write_bytes(b"whol"), "damaged", id="torn"),
        pytest.param(lambda file: file.write_bytes(b"whose"), "damaged", id="changed"),
        pytest.param(lambda file: file.unlink(), "is missing", id="missing"),
    ],
)
def test_damage_is_noticed(tmp_path, write, damage, message):
    save = write(b"whole", num_items=3)
    damage(save.path / "items")
    with pytest.raises(ValueError, match=message):
        saves.check(save)


class FailingDisk:
    """Reads as `read` does, but for the first times."""

    def __init__(self, read, num_failures):
        self.read = read
        self.num_failures = num_failures

    def __call__(self, *args, **kwargs):
        if self.num_failures:
            self.num_failures -= 1
            raise OSError(errno.EIO, "Input/output error")
        return self.read(*args, **kwargs)


@pytest.mark.parametrize(
    ("method", "look"),
    [("read_text", lambda save: saves.newest(save.path.parent)), ("open", saves.check)],
)
def test_a_save_that_cannot_be_read_now_is_neither_damaged_nor_missing(
    write, monkeypatch, method, look
):
    save = write(b"whole", num_items=3)
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, method, FailingDisk(None, 1))
        with pytest.raises(OSError, match="Input/output error"):
            look(save)
    saves.check(save)


def test_what_cannot_be_read_is_tried_again_while_whoever_watches_sees_it(monkeypatch):
    node, seen = pulse.Pulse(), []
    monkeypatch.setattr(pulse, "current", lambda: node)

    def wait_for_stop(secs):
        seen.append(node.waiting_for)
        return False

    disk = FailingDisk(lambda: "read", 2)
    read = saves.read_patiently(disk, pathlib.Path("replay"), wait_for_stop)
    assert read == "read"
    words = "the disk: replay cannot be read ([Errno 5] Input/output error)"
    assert seen == [words, words]


def test_what_cannot_be_read_for_half_a_minute_is_an_error():
    pauses_secs = []
    with pytest.raises(OSError, match="Input/output error"):
        saves.read_patiently(
            FailingDisk(None, 99), pathlib.Path("replay"), pauses_secs.append
        )
    assert sum(pauses_secs) == 31


def test_a_stop_ends_the_wait_for_the_disk():
    disk = FailingDisk(None, 99)
    with pytest.raises(OSError, match="Input/output error"):
        saves.read_patiently(disk, pathlib.Path("replay"), lambda secs: True)
    assert disk.num_failures == 98


def test_a_save_that_was_set_aside_stays_whatever_is_saved_later(tmp_path, write):
    for content in (b"first", b"second"):
        saves.set_aside(write(content, num_items=1).path)
    assert saves.newest(tmp_path) is None
    write(b"third", num_items=1)
    write(b"fourth", num_items=1)
    saves.tidy(tmp_path)
    kept = {path.parent.name: path.read_bytes() for path in tmp_path.glob("*/items")}
    assert kept == {"skipped-0": b"first", "skipped-1": b"second", "saved-1": b"fourth"}


def test_saves_are_looked_at_without_reverb_or_tensorflow():
    code = (
        "import sys; from rlcomponents.replay import saves;"
        "assert not {'reverb', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
