"""Tests of what the supervisor waits on, and what it keeps about a node."""

import os
import threading
import time

import pytest

from rlcomponents.launching import watched

LONG_SECS = 30.0  # A wait that is not ended would show as a slow test.


@pytest.fixture
def wake():
    made = watched.Wake()
    yield made
    made.close()


def waited_secs(wake: watched.Wake, timeout_secs: float = LONG_SECS) -> float:
    start = time.monotonic()
    wake.wait(timeout_secs)
    return time.monotonic() - start


def test_a_wait_ends_when_another_thread_sets_it(wake):
    thread = threading.Thread(target=wake.set)
    thread.start()
    assert waited_secs(wake) < LONG_SECS
    thread.join()


def test_being_set_many_times_ends_one_wait(wake):
    for _ in range(5):
        wake.set()
    wake.wait(LONG_SECS)
    assert waited_secs(wake, 0.05) >= 0.05  # Not ended again: the time had to pass.


def test_more_wakes_than_a_socket_holds_do_not_block(wake):
    for _ in range(100_000):
        wake.set()
    wake.wait(LONG_SECS)


def test_a_negative_time_does_not_wait_for_ever(wake):
    assert waited_secs(wake, -1.0) < LONG_SECS


def test_a_wait_ends_when_a_watched_descriptor_has_input(wake):
    receiver, sender = os.pipe()
    wake.watch(receiver)
    os.write(sender, b"x")
    assert waited_secs(wake) < LONG_SECS
    wake.unwatch(receiver)
    assert waited_secs(wake, 0.05) >= 0.05
    os.close(receiver)
    os.close(sender)


def test_setting_after_close_does_nothing():
    late = watched.Wake()
    late.close()
    late.set()


class NodeOfNothing(watched.Node):
    def poll(self) -> None:
        """Nothing to do, like the others."""

    _start = request_stop = interrupt = kill = close = poll


def test_a_node_knows_where_its_part_of_an_older_log_begins(tmp_path):
    path = tmp_path / "node.log"
    assert NodeOfNothing("group/0", path).log_start_bytes == 0
    path.write_bytes(b"of the run before\n")
    assert NodeOfNothing("group/0", path).log_start_bytes == 18
