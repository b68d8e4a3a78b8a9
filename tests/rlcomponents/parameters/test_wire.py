"""What crosses between a store and its shards."""

import pickle

import numpy as np
import pytest

from rlcomponents import core
from rlcomponents.parameters import wire


@wire.answers
def answer(question):
    """Answers one question in three ways."""
    if question == "empty":
        raise core.NotInitialisedError("nothing here")
    if question == "bad":
        raise ValueError("no such thing")
    if question == "bug":
        raise ZeroDivisionError
    return 7, question


def sent(reply):
    """Returns what comes out at the other end."""
    return pickle.loads(pickle.dumps(reply))


def test_a_result_comes_back():
    assert wire.read_reply(sent(answer("fine"))) == (7, "fine")


def test_a_result_is_told_from_an_error():
    questions = ("fine", "empty", "bad")
    assert [wire.is_result(answer(each)) for each in questions] == [True, False, False]


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ("empty", core.NotInitialisedError, "nothing here"),
        ("bad", ValueError, "no such thing"),
    ],
)
def test_an_error_of_the_contract_comes_back_with_its_class(question, error, message):
    with pytest.raises(error, match=message):
        wire.read_reply(sent(answer(question)))


def test_a_bug_is_no_answer():
    with pytest.raises(ZeroDivisionError):
        answer("bug")


@pytest.mark.parametrize("buffer", [bytes, memoryview])
def test_bytes_are_read_as_float32_without_a_copy(buffer):
    values = np.float32([1.5, -2.0])
    sent_values = wire.as_float32(buffer(values.tobytes()))
    assert sent_values.tolist() == [1.5, -2.0]
    assert not sent_values.flags.writeable


def test_a_part_of_a_value_is_refused():
    with pytest.raises(ValueError, match="5 bytes are no whole number"):
        wire.as_float32(b"12345")
