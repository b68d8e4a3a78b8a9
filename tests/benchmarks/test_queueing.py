"""Tests of benchmarks.queueing: times by hand."""

import queueing


def run(clock):
    """Lets all happen that is planned."""
    clock.run(lambda: not clock._events)


def noting(clock, ends, name):
    return lambda: ends.update({name: clock.now_secs})


def computed(works, *, cores, busy_speed=1.0):
    """Returns when each of some processes has done its work, all begun at 0."""
    clock, ends = queueing.Clock(), {}
    machine = queueing.Machine(clock, cores, busy_speed)
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


def test_two_processes_share_a_core_equally():
    # Half speed each until a has had its 1 s, at 2 s; b has 2 s left then.
    assert computed({"a": 1.0, "b": 3.0}, cores=1) == {"a": 2.0, "b": 4.0}


def test_as_many_processes_as_cores_do_not_wait():
    assert computed({"a": 1.0, "b": 3.0}, cores=2) == {"a": 1.0, "b": 3.0}


def test_three_processes_share_two_cores():
    # Two thirds of a core each until 3 s; b and c then have one each for their 2 s.
    assert computed({"a": 2.0, "b": 4.0, "c": 4.0}, cores=2) == {
        "a": 3.0, "b": 5.0, "c": 5.0
    }  # fmt: skip


def test_cores_that_are_busy_together_are_slower():
    # Half speed until a ends; b has 1 s left then, which it does at full speed.
    assert computed({"a": 1.0, "b": 2.0}, cores=2, busy_speed=0.5) == {
        "a": 2.0, "b": 3.0
    }  # fmt: skip


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
