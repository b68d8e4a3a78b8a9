"""Tests of rlcomponents.testing.mounts, on a process with mounts of its own."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rlcomponents.testing import mounts


@pytest.fixture
def pid() -> Iterator[int]:
    """A process that sees the same files by mounts of its own."""
    there = "print(flush=True); input()"
    command = ["unshare", "-Urm", sys.executable, "-c", there]
    try:
        process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1)
    except FileNotFoundError:
        pytest.skip("Needs util-linux.")
    with process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"\n":
                pytest.skip("Needs user namespaces with mounts.")
            yield process.pid
        finally:
            process.kill()


def test_a_folder_is_read_only_inside_the_block_and_for_the_process_alone(
    pid: int, tmp_path: pathlib.Path
) -> None:
    theirs = pathlib.Path(f"/proc/{pid}/root{tmp_path}")
    with mounts.read_only(pid, tmp_path):
        (tmp_path / "ours").touch()
        with pytest.raises(OSError, match="Read-only file system"):
            (theirs / "new").touch()
        with pytest.raises(OSError, match="Read-only file system"):
            os.rename(theirs / "ours", theirs / "renamed")

    (theirs / "new").touch()
    assert sorted(os.listdir(tmp_path)) == ["new", "ours"]


def test_the_mounts_of_this_process_are_left_alone(tmp_path: pathlib.Path) -> None:
    read_only = mounts.read_only(os.getpid(), tmp_path)
    with pytest.raises(PermissionError, match="no mounts of its own"), read_only:
        pass
