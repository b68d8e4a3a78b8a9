"""Checks settings; whatever is wrong with one is said in one sentence.

A config is a dataclass of bool, int, float and str, each perhaps or None. The checks
look at its fields by name, so that a message can name the setting, which is also the
name of the flag.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

LARGEST_INT = 2**53
"""Counts pass through files and floats, which hold whole numbers up to this one."""

SMALLEST_FLOAT, LARGEST_FLOAT = 1e-37, 1e37
"""Sizes that float32 holds, which is what everything is computed in."""

_WORDS: Mapping[type, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "text",
}


class Limit(NamedTuple):
    """What a setting may be.

    Attributes:
        words: Completes "it must be".
        allows: Whether a value, other than None, is allowed. False for NaN.
    """

    words: str
    allows: Callable[[Any], bool]


AT_LEAST_ONE = Limit("at least 1", lambda value: value >= 1)
"""For counts of what has to be there."""

NOT_NEGATIVE = Limit("0 or more", lambda value: value >= 0)
"""For counts and times that may be 0."""

POSITIVE = Limit("above 0", lambda value: value > 0)
"""For sizes and rates."""

FRACTION = Limit("between 0 and 1", lambda value: 0 <= value <= 1)
"""For parts and probabilities, both ends included."""

DECAY = Limit("0 or more, and below 1", lambda value: 0 <= value < 1)
"""For factors of moving averages."""

NUM_NODES = Limit("between 1 and 1000", lambda value: 1 <= value <= 1000)
"""For numbers of nodes of a group."""


def one_of(words: Iterable[str]) -> Limit:
    """Allows these words."""
    allowed = tuple(words)
    return Limit(f"one of {', '.join(allowed)}", lambda value: value in allowed)


def check(config: Any, limits: Mapping[str, Limit]) -> None:
    """Checks the types of all settings, and these limits.

    Args:
        config: A dataclass.
        limits: By setting. Settings without one are checked for their type and size.

    Raises:
        ValueError: Naming the setting, its value and what is allowed.
    """
    annotations = typing.get_type_hints(type(config))
    for name in (field.name for field in dataclasses.fields(config)):
        value: Any = getattr(config, name)
        kind, optional = plain_type(annotations[name])
        if value is None and optional:
            continue
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ValueError(
                f"{name} is {value!r}: it must be {describe_type(kind, optional)}."
            )
        if name in limits and not limits[name].allows(value):
            shown = repr(value) if kind is str else value
            raise ValueError(f"{name} is {shown}: it must be {limits[name].words}.")
        if kind in (float, int):
            _check_size(name, value, kind)


def plain_type(annotation: Any) -> tuple[type, bool]:
    """Returns the type without None, and whether None was one of its values."""
    if isinstance(annotation, types.UnionType):
        (kind,) = (arg for arg in annotation.__args__ if arg is not types.NoneType)
        return kind, True
    return annotation, False


def describe_type(kind: type, optional: bool) -> str:
    """Says what values of a type look like; completes "it must be"."""
    return _WORDS[kind] + (", or none" if optional else "")


def _check_size(name: str, value: Any, kind: type) -> None:
    largest = LARGEST_INT if kind is int else LARGEST_FLOAT
    if not abs(value) <= largest:
        raise ValueError(f"{name} is {value}: it must be at most {largest}.")
    if kind is float and 0 < abs(value) < SMALLEST_FLOAT:
        raise ValueError(
            f"{name} is {value}: it must be at least {SMALLEST_FLOAT} in size."
        )
