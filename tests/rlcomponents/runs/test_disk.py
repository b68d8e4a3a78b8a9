"""Tests of outliving a disk that takes no more."""

import errno

import pytest

from rlcomponents import pulse
from rlcomponents.runs import disk


def write(on, what, error=None):
    """Writes, and fails with an error if one is given."""
    with on.survived(what):
        if error is not None:
            raise OSError(error, "why")


def test_trouble_is_said_once_until_all_is_well_again():
    said = []
    on = disk.Disk(said.append)
    for what in ("rows", "rows", "events", "rows"):
        write(on, what, errno.ENOSPC)
    write(on, "rows")  # The events still fail.
    assert said == [
        "CANNOT WRITE rows: why. Training goes on; what would be written now is lost, "
        "until it can be written again."
    ]
    write(on, "events")
    assert said[1:] == ["rows can be written again."]
    write(on, "rows", errno.EROFS)
    assert len(said) == 3


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES]
)
def test_full_disks_and_folders_made_read_only_are_survived(number):
    said = []
    write(disk.Disk(said.append), "rows", number)
    assert len(said) == 1


def test_a_mistake_is_no_trouble_of_the_disk():
    with pytest.raises(IsADirectoryError):
        write(disk.Disk(print), "rows", errno.EISDIR)


def test_the_launcher_is_told_what_failed_and_works_again(monkeypatch):
    told = []
    node = pulse.Pulse(say_of_disk=told.append)
    monkeypatch.setattr(pulse, "current", lambda: node)
    on = disk.Disk()
    write(on, "rows", errno.EROFS)
    write(on, "events", errno.EROFS)
    write(on, "rows")
    write(on, "events")  # By the name by which it was told of before.
    assert [(news.what, news.fails) for news in told] == [
        ("rows", True),
        ("rows", False),
    ]


def test_the_users_screen_is_told():
    said, before = [], pulse.current()
    pulse.use_in_this_process(pulse.Pulse(say=said.append))
    try:
        write(disk.Disk(), "rows", errno.ENOSPC)
    finally:
        pulse.use_in_this_process(before)
    assert len(said) == 1
