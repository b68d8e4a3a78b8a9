"""Tests of what is done by a child, with no namespace to enter."""

import errno
import os
import pathlib

import pytest

from rlcomponents.testing import namespaces


def test_the_action_is_done_by_another_process(tmp_path):
    note = tmp_path / "pid"
    namespaces.call_in([], lambda: _write_pid(note), "to write")
    assert int(note.read_text()) not in (0, os.getpid())


def _write_pid(path: pathlib.Path) -> None:
    path.write_text(str(os.getpid()))


def test_what_fails_there_is_raised_here_with_its_number_and_what_it_was():
    def fail():
        raise OSError(errno.EROFS, "Read-only file system")

    with pytest.raises(OSError, match=r"Read-only file system: to write") as raised:
        namespaces.call_in([], fail, "to write")
    assert raised.value.errno == errno.EROFS


def test_what_is_no_namespace_cannot_be_entered(tmp_path):
    done = tmp_path / "done"
    with (
        (tmp_path / "file").open("w") as file,
        pytest.raises(OSError, match="to do it") as raised,
    ):
        namespaces.call_in([file.fileno()], done.touch, "to do it")
    assert raised.value.errno == errno.EINVAL
    assert not done.exists()


def test_a_call_of_the_c_library_that_failed_is_raised():
    namespaces.check(0)
    with pytest.raises(OSError, match="Bad file") as raised:
        namespaces.check(namespaces.libc().close(-1))
    assert raised.value.errno == errno.EBADF
