"""Tests of files that grow by whole records, on a disk that is full for a while."""

import errno
import io

import pytest

from rlcomponents.runs import append_file


class SmallDisk(io.FileIO):
    """Has room for so many more bytes."""

    room_bytes = 10**9

    def write(self, data):
        if not SmallDisk.room_bytes:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = bytes(data)[: SmallDisk.room_bytes]
        SmallDisk.room_bytes -= len(part)
        return super().write(part)


@pytest.fixture
def disk(monkeypatch, tmp_path):
    monkeypatch.setattr(
        type(tmp_path), "open", lambda path, mode, buffering=0: SmallDisk(path, mode)
    )
    monkeypatch.setattr(SmallDisk, "room_bytes", 10**9)
    return SmallDisk


def test_goes_on_with_a_file_that_exists(tmp_path):
    path = tmp_path / "file"
    for record in (b"one\n", b"two\n"):
        file = append_file.AppendFile(path)
        file.append(record)
        file.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_record_that_finds_no_room_leaves_nothing_of_itself(tmp_path, disk):
    file = append_file.AppendFile(tmp_path / "file")
    file.append(b"one\n")
    disk.room_bytes = 2
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            file.append(b"two\n")
        assert (tmp_path / "file").read_bytes() == b"one\n"
    disk.room_bytes = 100
    file.append(b"three\n")
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"


def test_what_cannot_be_removed_at_once_is_before_the_next_record(
    tmp_path, disk, monkeypatch
):
    file = append_file.AppendFile(tmp_path / "file")
    file.append(b"one\n")
    disk.room_bytes = 2

    def fail(self, size):
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(SmallDisk, "truncate", fail, raising=False)
        for _ in range(2):
            with pytest.raises(OSError, match="Read-only"):
                file.append(b"two\n")
    disk.room_bytes = 100
    file.append(b"three\n")
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"
