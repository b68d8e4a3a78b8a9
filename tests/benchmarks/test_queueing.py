"""Tests of benchmarks.queueing: times by hand."""

import pytest
import queueing


def run(clock):
    """Lets all happen that is planned."""
    clock.run(lambda: not clock._events)


def noting(clock, ends, name):
    return lambda: ends.update({name: clock.now_secs})


def computed(works, **settings):
    """Returns when each of some processes has done its work, all begun at 0."""
    clock, ends = queueing.Clock(), {}
    machine = queueing.Machine(clock, **settings)
    for name, secs in works.items():
        queueing.Process(clock, machine).do(secs, noting(clock, ends, name))
    run(clock)
    return ends


def sent(*messages, bytes_per_sec, latency_secs=0.0):
    """Returns when each message has arrived: (name, sender, receiver, bytes)."""
    clock, ends = queueing.Clock(), {}
    network = queueing.Network(clock, bytes_per_sec, latency_secs)
    machine = queueing.Machine(clock, 1.0)
    processes = {
        name: queueing.Process(clock, machine) for m in messages for name in m[1:3]
    }
    for name, sender, receiver, size in messages:
        done = noting(clock, ends, name)
        network.send(processes[sender], processes[receiver], size, done)
    run(clock)
    return ends


def test_processes_have_a_core_in_turn_a_slice_each():
    # a 0-1, b 1-2, a 2-3 and ends, b 3-5.
    works = {"a": 2.0, "b": 3.0}
    assert computed(works, cores=1, slice_secs=1.0) == {"a": 3.0, "b": 5.0}


def test_without_slices_who_has_a_core_keeps_it():
    assert computed({"a": 2.0, "b": 3.0}, cores=1) == {"a": 2.0, "b": 5.0}


def test_short_slices_share_a_core_equally():
    # Half speed each until a has had its 1 s, at 2 s; b has 2 s left then.
    ends = computed({"a": 1.0, "b": 3.0}, cores=1, slice_secs=0.001)
    assert ends == {"a": pytest.approx(2.0, abs=0.002), "b": pytest.approx(4.0)}


def test_as_many_processes_as_cores_do_not_wait():
    works = {"a": 1.0, "b": 3.0}
    assert computed(works, cores=2, slice_secs=0.5) == {"a": 1.0, "b": 3.0}


def test_a_part_of_the_cores_is_slower_cores():
    assert computed({"a": 3.0, "b": 3.0}, cores=1.5) == {"a": 4.0, "b": 4.0}


def test_cores_that_are_busy_together_are_slower():
    # As a slice begins: a is alone then; b is not in its first second of work, which
    # takes two, and is in its second.
    works = {"a": 1.0, "b": 2.0}
    ends = computed(works, cores=2, slice_secs=1.0, busy_speed=0.5)
    assert ends == {"a": 1.0, "b": 3.0}


def test_a_process_that_goes_on_at_once_keeps_its_slice():
    # a does two things of 1 s in one slice of 2 s; b waits for all of it.
    clock, ends = queueing.Clock(), {}
    machine = queueing.Machine(clock, 1.0, slice_secs=2.0)
    a, b = queueing.Process(clock, machine), queueing.Process(clock, machine)
    a.do(1.0, lambda: a.do(1.0, noting(clock, ends, "a")))
    b.do(1.0, noting(clock, ends, "b"))
    run(clock)
    assert ends == {"a": 2.0, "b": 3.0}


def test_a_process_does_one_thing_at_a_time_in_order():
    clock, ends = queueing.Clock(), {}
    process = queueing.Process(clock, queueing.Machine(clock, 8.0))
    for name, secs in (("a", 2.0), ("b", 1.0)):
        process.do(secs, noting(clock, ends, name))
    run(clock)
    assert ends == {"a": 2.0, "b": 3.0}
    assert process.busy_secs() == 3.0


def test_a_process_that_is_asked_again_later_was_not_busy_between():
    clock = queueing.Clock()
    process = queueing.Process(clock, queueing.Machine(clock, 1.0))
    process.do(1.0, lambda: clock.after(5.0, lambda: process.do(2.0, lambda: None)))
    run(clock)
    assert clock.now_secs == 8.0
    assert process.busy_secs() == 3.0


def test_a_message_alone_takes_its_bytes_once_and_the_latency():
    ends = sent(("m", "a", "b", 100), bytes_per_sec=50.0, latency_secs=0.5)
    assert ends == {"m": 2.5}


def test_messages_of_one_sender_leave_one_after_the_other():
    ends = sent(("m", "a", "b", 100), ("n", "a", "c", 100), bytes_per_sec=100.0)
    assert ends == {"m": 1.0, "n": 2.0}


def test_messages_to_one_receiver_arrive_one_after_the_other():
    ends = sent(("m", "a", "c", 100), ("n", "b", "c", 100), bytes_per_sec=100.0)
    assert ends == {"m": 1.0, "n": 2.0}


def test_both_directions_of_a_link_are_free_of_each_other():
    ends = sent(("m", "a", "b", 100), ("n", "b", "a", 100), bytes_per_sec=100.0)
    assert ends == {"m": 1.0, "n": 1.0}


def test_without_a_rate_only_the_latency_counts():
    ends = sent(("m", "a", "b", 10**9), bytes_per_sec=None, latency_secs=0.5)
    assert ends == {"m": 0.5}
