"""Tests of rlcomponents.nodes.stopping."""

import threading

import pytest

from rlcomponents.launching import launchpad_runtime
from rlcomponents.nodes import stopping


@pytest.fixture
def switch():
    switch = launchpad_runtime.StopSwitch()
    uninstall = launchpad_runtime.install(switch, switch.turn)
    yield switch
    uninstall()


def test_no_stop_within_the_time(switch):
    assert stopping.wait_for_stop(0) is False
    assert stopping.wait_for_stop(0.01) is False


def test_a_stop_is_seen_ever_after(switch):
    switch.turn()
    assert stopping.wait_for_stop(0) is True
    assert stopping.wait_for_stop(1_000) is True


def test_a_stop_ends_the_wait(switch):
    threading.Timer(0.05, switch.turn).start()
    assert stopping.wait_for_stop(1_000) is True
