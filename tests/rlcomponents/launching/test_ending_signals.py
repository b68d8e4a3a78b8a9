"""Tests of who has the signals that end programs."""

import os
import signal
import threading

import pytest

from rlcomponents.launching import ending_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_received_and_its_handler_put_back(number):
    received = []
    found = signal.signal(number, signal.SIG_DFL)  # The tests may run under nohup.
    try:
        with ending_signals.sent_to(received.append):
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, found)
    assert received == [number]


def test_a_hangup_that_is_ignored_stays_ignored():
    received = []
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # As nohup does.
    try:
        with ending_signals.sent_to(received.append):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, previous)
    assert received == []


def test_another_thread_leaves_the_handlers_alone():
    found = []

    def look():
        with ending_signals.sent_to(found.append):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
