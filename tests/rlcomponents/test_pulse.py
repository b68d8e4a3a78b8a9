"""Tests of rlcomponents.pulse."""

import contextlib
import threading

from rlcomponents import pulse


def test_counts_completed_steps() -> None:
    life = pulse.Pulse()

    life.completed_step()
    life.completed_step()

    assert life.steps == 2


def test_the_innermost_wait_counts_and_the_outer_one_comes_back() -> None:
    life = pulse.Pulse()

    with life.waiting("replay/0"):
        since_secs = life.waiting_since_secs
        with life.waiting("parameters/1"):
            assert life.waiting_for == "parameters/1"
        assert life.waiting_for == "replay/0"
        assert life.waiting_since_secs == since_secs
    assert life.waiting_for is None


def test_a_wait_that_fails_is_over() -> None:
    life = pulse.Pulse()

    try:
        with life.waiting("replay/0"):
            raise TimeoutError
    except TimeoutError:
        pass

    assert life.waiting_for is None


def test_numbers_are_shown_until_others_come_in_their_place() -> None:
    life = pulse.Pulse()

    life.show(updates=1, staleness_updates=0.5)
    life.show(updates=2)

    assert life.numbers == {"updates": 2, "staleness_updates": 0.5}


def test_a_node_is_starting_while_it_is_built_however_that_ends() -> None:
    life = pulse.Pulse()

    with contextlib.suppress(ImportError), life.starting():
        assert life.is_starting
        raise ImportError

    assert not life.is_starting


def test_a_thread_may_have_a_pulse_of_its_own() -> None:
    own = pulse.Pulse()
    seen = []

    def work() -> None:
        pulse.use_in_this_thread(own)
        pulse.current().completed_step()
        seen.append(pulse.current())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [own]
    assert own.steps == 1
    assert pulse.current() is not own


def test_lines_go_to_whoever_shows_them() -> None:
    lines: list[str] = []

    pulse.Pulse(say=lines.append).say("The disk is full.")

    assert lines == ["The disk is full."]


def test_waiting_for_one_peer_again_and_again_is_one_wait() -> None:
    life = pulse.Pulse()

    with life.waiting("replay/0: 1 of 9 items"):
        since_secs = life.waiting_since_secs
    with life.waiting("replay/0: 2 of 9 items"):
        assert life.waiting_since_secs == since_secs
    with life.waiting("parameters/0"):
        assert life.waiting_since_secs > since_secs


def test_a_step_ends_a_wait() -> None:
    life = pulse.Pulse()

    with life.waiting("replay/0"):
        since_secs = life.waiting_since_secs
    life.completed_step()
    with life.waiting("replay/0"):
        assert life.waiting_since_secs > since_secs


def test_asking_twice_a_second_is_not_one_wait(monkeypatch) -> None:
    now_secs = [10.0]
    monkeypatch.setattr(pulse.time, "monotonic", lambda: now_secs[0])
    life = pulse.Pulse()

    with life.waiting("parameters"):
        now_secs[0] = 10.1
    now_secs[0] = 10.6  # As an evaluator asks when nothing is to be evaluated.
    with life.waiting("parameters"):
        assert life.waiting_since_secs == 10.6
    now_secs[0] = 10.7
    with life.waiting("parameters"):
        assert life.waiting_since_secs == 10.6


def test_steps_follow_each_other_inside_the_block_only() -> None:
    life = pulse.Pulse()

    assert not life.is_stepping
    with life.stepping():
        assert life.is_stepping
    assert not life.is_stepping
