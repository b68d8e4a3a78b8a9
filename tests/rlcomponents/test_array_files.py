"""Tests of rlcomponents.array_files."""

import os
import pathlib

import numpy as np
import pytest

from rlcomponents import array_files

ARRAYS = {
    "slots/mean": np.arange(1000, dtype=np.float32),
    "matrix": np.arange(6, dtype=np.int8).reshape(2, 3),
    "count": 2**40,
}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == np.asarray(value).dtype
        np.testing.assert_array_equal(found[name], value)


def test_arrays_come_back(tmp_path):
    path = tmp_path / "a.npz"
    array_files.write(path, ARRAYS)
    assert_equal(array_files.read(path), ARRAYS)


def test_numpy_reads_them_too(tmp_path):
    path = tmp_path / "a.npz"
    array_files.replace(path, ARRAYS)
    with np.load(path, allow_pickle=False) as found:
        assert_equal({name: found[name] for name in found.files}, ARRAYS)


def test_nothing_else_is_left_beside_a_file(tmp_path):
    path = tmp_path / "a.npz"
    for _ in range(2):
        array_files.replace(path, ARRAYS)
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_where_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    array_files.replace(path, ARRAYS)

    def write(path, arrays):
        path.write_bytes(b"torn")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(array_files, "write", write)
    with pytest.raises(OSError, match="No space left"):
        array_files.replace(path, {})
    assert_equal(array_files.read(path), ARRAYS)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_written_over(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    monkeypatch.setattr(os, "replace", lambda *paths: None)
    monkeypatch.setattr(pathlib.Path, "unlink", lambda *args, **kwargs: None)
    array_files.replace(path, ARRAYS)  # Dies before its end.
    monkeypatch.undo()
    assert not path.exists()
    array_files.replace(path, ARRAYS)
    assert list(tmp_path.iterdir()) == [path]


def test_an_object_that_needs_pickle_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"[Oo]bject arrays"):
        array_files.replace(tmp_path / "a.npz", {"object": np.array([{}])})
    assert not list(tmp_path.iterdir())


def test_an_object_in_a_file_is_not_unpickled(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, object=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is damaged or no file of arrays"):
        array_files.read(path)


@pytest.mark.parametrize("num_bytes", [0, 1, 100, 2000, 4400, -1])
def test_a_torn_file_is_refused(tmp_path, num_bytes):
    path = tmp_path / "a.npz"
    array_files.write(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:num_bytes])
    with pytest.raises(ValueError, match="is damaged or no file of arrays"):
        array_files.read(path)


def test_a_file_with_a_bit_turned_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    array_files.write(path, ARRAYS)
    payload = bytearray(path.read_bytes())
    payload[2000] ^= 1  # Inside the values of the first array.
    path.write_bytes(payload)
    with pytest.raises(ValueError, match="CRC"):
        array_files.read(path)


@pytest.mark.parametrize("payload", [b"", b"not an archive", b"\x93NUMPY\x01\x00"])
def test_another_file_is_refused(tmp_path, payload):
    path = tmp_path / "a.npz"
    path.write_bytes(payload)
    with pytest.raises(ValueError, match="is damaged or no file of arrays"):
        array_files.read(path)


def test_a_missing_file_is_told_from_a_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        array_files.read(tmp_path / "a.npz")
