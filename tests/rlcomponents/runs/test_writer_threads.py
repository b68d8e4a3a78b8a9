"""Tests of threads that write beside the work of a node."""

import threading

import pytest

from rlcomponents.runs import writer_threads

LONG_SECS = 30.0  # Never waited for: the event comes first, or the test fails.


def test_what_the_thread_died_of_is_raised_once_where_it_is_looked_at():
    def run():
        raise MemoryError("no memory")

    thread = writer_threads.WriterThread(run)
    thread.join(LONG_SECS)
    with pytest.raises(MemoryError, match="no memory"):
        thread.check()
    thread.check()  # Closing what has failed does not fail again.


def test_a_thread_that_runs_or_has_ended_well_raises_nothing():
    end = threading.Event()

    def run():
        end.wait(LONG_SECS)

    thread = writer_threads.WriterThread(run)
    thread.check()
    assert thread.is_alive
    end.set()
    thread.join(LONG_SECS)
    assert not thread.is_alive
    thread.check()
