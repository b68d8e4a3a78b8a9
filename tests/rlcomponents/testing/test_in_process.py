"""The stand-in for a courier client is as strict as courier."""

import threading

import numpy as np
import pytest

from rlcomponents.testing import in_process


class Instance:
    def add(self, a, b=0):
        return a + b

    def fail(self):
        raise KeyError("lost")


def test_calls_return_results_and_futures():
    client = in_process.InProcessClient(Instance())
    assert client.add(1, b=2) == 3
    assert client.futures.add(1).result() == 1


@pytest.mark.parametrize(
    "argument", [np.ones(2), np.float32(1), [np.ones(2)], {"a": np.ones(2)}, object()]
)
def test_arguments_that_hang_courier_are_refused(argument):
    client = in_process.InProcessClient(Instance())
    with pytest.raises(TypeError, match="may never return"):
        client.futures.add(argument)
    with pytest.raises(TypeError, match="may never return"):
        client.add(1, b=argument)


def test_an_exception_arrives_without_its_class():
    client = in_process.InProcessClient(Instance())
    with pytest.raises(RuntimeError, match="KeyError: 'lost'") as caught:
        client.fail()
    assert type(caught.value) is RuntimeError


def test_private_methods_are_out_of_reach():
    client = in_process.InProcessClient(Instance())
    with pytest.raises(AttributeError):
        client._add(1)
    with pytest.raises(AttributeError):
        client.futures._add(1)


def test_calls_run_at_the_same_time():
    barrier = threading.Barrier(2, timeout=10)

    class Meeting:
        def meet(self):
            return barrier.wait() >= 0

    client = in_process.InProcessClient(Meeting())
    assert all(call.result() for call in [client.futures.meet(), client.futures.meet()])


def test_a_flaky_client_fails_as_it_is_told():
    client = in_process.FlakyClient(Instance())
    client.fail_once("add", in_process.Unavailable("gone"))
    with pytest.raises(in_process.Unavailable, match="gone") as caught:
        client.futures.add(1).result()
    assert caught.value.code.name == "UNAVAILABLE"
    assert client.futures.add(1).result() == 1
    assert client.calls == ["add", "add"]
