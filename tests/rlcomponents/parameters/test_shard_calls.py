"""Calls to shards that are away, hang, and come back."""

import socket
from concurrent import futures

import pytest

from rlcomponents import core, pulse
from rlcomponents.parameters import shard_calls
from rlcomponents.testing import in_process


class Counter:
    """Counts how often it was asked."""

    def __init__(self):
        self.count = 0

    def ask(self, number):
        self.count += 1
        return number


def make_calls(num_shards=2, *, call_timeout_secs=5.0, should_stop=lambda: False):
    clients = [in_process.FlakyClient(Counter()) for _ in range(num_shards)]
    calls = shard_calls.ShardCalls(
        clients, call_timeout_secs=call_timeout_secs, should_stop=should_stop
    )
    return calls, clients


GONE = in_process.Unavailable("Socket closed")


def test_what_is_called_once_is_never_called_again():
    calls, clients = make_calls(3)
    clients[1].fail_once("ask", GONE)
    assert calls.once("ask", {0: (5,), 1: (6,), 2: (7,)}) == {0: 5, 2: 7}
    assert [client.calls for client in clients] == [["ask"]] * 3
    assert [calls.is_lost(index) for index in range(3)] == [False, True, False]
    assert [calls.is_there(index) for index in range(3)] == [True, False, True]


def test_a_view_is_sent_as_bytes():
    calls, _ = make_calls(1)
    sent = calls.once("ask", {0: (memoryview(b"part"),)})[0]
    assert type(sent) is bytes
    assert sent == b"part"


def test_a_shard_that_was_never_called_is_neither_there_nor_lost():
    calls, _ = make_calls()
    assert not calls.is_there(0)
    assert not calls.is_lost(0)


def test_what_needs_an_answer_is_called_until_there_is_one():
    calls, clients = make_calls(call_timeout_secs=0.3)
    failures = [GONE, futures.Future(), GONE]
    clients[1].fails = lambda method: failures.pop(0) if failures else None
    assert calls.until_answered("ask", {0: (5,), 1: (6,)}) == {0: 5, 1: 6}
    assert [len(client.calls) for client in clients] == [1, 4]
    assert calls.is_there(1)


@pytest.fixture
def own_pulse(monkeypatch):
    """Not the process's: threads of other tests may still wait on that one."""
    monkeypatch.setattr(pulse._of_thread, "pulse", pulse.Pulse())
    return pulse.current()


def test_the_node_says_for_which_shard_it_waits(own_pulse):
    calls, clients = make_calls()
    said = []

    def fails(method):
        said.append(own_pulse.waiting_for)
        return GONE if len(said) < 3 else None

    clients[1].fails = fails
    calls.until_answered("ask", {0: (5,), 1: (6,)})
    assert said == ["parameters", *["parameters/1: Socket closed"] * 2]
    assert own_pulse.waiting_for is None


@pytest.mark.parametrize(
    ("failure", "reason"), [(GONE, "Socket closed"), (None, "no answer to ask")]
)
def test_a_request_to_stop_ends_the_wait_for_a_shard(failure, reason):
    stop = [False, False, True]
    calls, clients = make_calls(
        call_timeout_secs=0.3,
        should_stop=lambda: stop.pop(0) if len(stop) > 1 else stop[0],
    )
    clients[1].fails = lambda method: failure or futures.Future()
    with pytest.raises(
        core.StoreUnavailableError,
        match=rf"is to stop, .* by 1 of 2 .*shard 1 at in process: {reason}",
    ):
        calls.until_answered("ask", {0: (5,), 1: (6,)})


def test_who_is_lost_is_not_called_again_after_a_request_to_stop():
    stop = [False]
    calls, clients = make_calls(should_stop=lambda: stop[0])
    clients[0].fail_once("ask", GONE)
    calls.once("ask", {0: (5,)})
    stop[0] = True
    with pytest.raises(core.StoreUnavailableError, match="Socket closed"):
        calls.until_answered("ask", {0: (5,)})
    assert clients[0].calls == ["ask"]


def test_who_answers_is_called_after_a_request_to_stop():
    calls, _ = make_calls(should_stop=lambda: True)
    assert calls.until_answered("ask", {0: (5,), 1: (6,)}) == {0: 5, 1: 6}


def test_an_address_is_called_only_once_somebody_listens_there():
    with socket.socket() as server:
        server.bind(("localhost", 0))
        looks = []

        def should_stop():
            assert not clients[0].calls
            looks.append(pulse.current().waiting_for)
            if len(looks) == 3:
                server.listen()
            return False

        calls, clients = make_calls(should_stop=should_stop)
        clients[0].address = f"localhost:{server.getsockname()[1]}"
        assert calls.until_answered("ask", {0: (5,)}) == {0: 5}
    assert looks == ["parameters/0: nobody listens there"] * 3


def test_an_error_inside_a_shard_goes_to_the_caller():
    calls, _ = make_calls()
    with pytest.raises(RuntimeError, match="TypeError"):
        calls.until_answered("ask", {0: ()})


@pytest.mark.parametrize("secs", [0.0, -1.0, float("nan")])
def test_a_timeout_that_is_not_positive_is_refused(secs):
    with pytest.raises(ValueError, match=r"call_timeout_secs is .*: give a positive"):
        make_calls(call_timeout_secs=secs)
