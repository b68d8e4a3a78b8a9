"""Tests of rlcomponents.nodes.replay_saver, without a replay."""

import errno
import threading

import pytest

from rlcomponents import pulse
from rlcomponents.nodes import replay_saver

LONG_SECS = 30.0  # Never waited for: the event comes first, or the test fails.


@pytest.fixture
def lines():
    """What is said to the user."""
    said: list[str] = []
    before = pulse.current()
    pulse.use_in_this_process(pulse.Pulse(say=said.append))
    yield said
    pulse.use_in_this_process(before)


def test_it_saves_each_period_and_once_more_at_the_end():
    saves = threading.Semaphore(0)
    saver = replay_saver.ReplaySaver(saves.release, "folder", period_secs=0.01)
    for _ in range(3):
        assert saves.acquire(timeout=LONG_SECS)
    saver.close()
    assert saves.acquire(timeout=LONG_SECS)
    last = replay_saver.ReplaySaver(saves.release, "folder", period_secs=LONG_SECS)
    while saves.acquire(blocking=False):
        pass
    last.close()
    assert saves.acquire(blocking=False)


def test_a_full_disk_is_said_once_and_tried_again(lines):
    tries = threading.Semaphore(0)

    def save():
        tries.release()
        raise OSError(errno.ENOSPC, "No space left on device")

    saver = replay_saver.ReplaySaver(save, "state/replay-0", period_secs=0.01)
    for _ in range(3):
        assert tries.acquire(timeout=LONG_SECS)
    saver.close()
    [line] = lines
    assert line.startswith("CANNOT WRITE state/replay-0: No space left on device.")


def test_a_last_save_that_takes_too_long_is_given_up_in_silence(lines):
    begun, cut_off = threading.Event(), threading.Event()

    def save():
        begun.set()
        assert cut_off.wait(LONG_SECS)
        raise OSError(errno.EIO, "Socket closed")

    saver = replay_saver.ReplaySaver(
        save, "state/replay-0", period_secs=0.01, last_save_secs=0.05
    )
    assert begun.wait(LONG_SECS)
    saver.close()
    cut_off.set()
    saver._thread.join(LONG_SECS)
    assert not saver._thread.is_alive
    assert lines == []


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), MemoryError("no memory")]
)
def test_what_ends_its_thread_is_raised_in_the_nodes_own_loop(lines, error):
    def save():
        raise error

    saver = replay_saver.ReplaySaver(save, "state/replay-0", period_secs=0.01)
    saver._thread.join(LONG_SECS)
    with pytest.raises(type(error)):
        saver.check()
    saver.close()  # Which the node does while it dies of that.


def test_a_last_save_that_fails_is_no_clean_end(lines):
    def save():
        raise OSError(errno.EMFILE, "Too many open files")

    saver = replay_saver.ReplaySaver(save, "state/replay-0", period_secs=LONG_SECS)
    with pytest.raises(OSError, match="Too many open files"):
        saver.close()
