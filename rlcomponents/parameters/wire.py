"""What crosses between a store and its shards: vectors as bytes, answers as replies."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rlcomponents import core

Buffer = bytes | memoryview
"""Bytes as they are sent, or a view of them."""

Reply = tuple[int, Any]
"""What a shard's method answers: a code and a result. `read_reply` takes it apart."""

_OK, _NOT_INITIALISED, _BAD_CALL = range(3)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def as_float32(vector: Buffer) -> np.ndarray:
    """Returns a read-only view of the values."""
    if len(vector) % 4:
        raise ValueError(f"{len(vector)} bytes are no whole number of float32 values.")
    return np.frombuffer(vector, np.float32)


def answers(method: Callable[_P, _R]) -> Callable[_P, Reply]:
    """Makes a method answer `Reply`: courier would lose an exception's class."""

    @functools.wraps(method)
    def answer(*args: _P.args, **kwargs: _P.kwargs) -> Reply:
        try:
            return _OK, method(*args, **kwargs)
        except core.NotInitialisedError as error:
            return _NOT_INITIALISED, str(error)
        except ValueError as error:
            return _BAD_CALL, str(error)

    return answer


def is_result(reply: Reply) -> bool:
    """Returns whether a shard's method answered with a result, not with an error."""
    return reply[0] == _OK


def read_reply(reply: Reply) -> Any:
    """Returns the result that a shard's method answered, or raises its error.

    Raises:
        NotInitialisedError: The shard holds no parameters yet.
        ValueError: The shard refused the arguments.
    """
    code, result = reply
    if code == _NOT_INITIALISED:
        raise core.NotInitialisedError(result)
    if code == _BAD_CALL:
        raise ValueError(result)
    return result
