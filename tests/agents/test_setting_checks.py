import dataclasses
import math

import pytest

from agents import setting_checks


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    number: float = 1.0
    perhaps: float | None = None
    count: int = 1
    switch: bool = False
    word: str = "one"


def check(limits=None, **settings):
    setting_checks.check(Settings(**settings), limits or {})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"number": "1"}, "number is '1': it must be a number."),
        ({"number": None}, "number is None: it must be a number."),
        ({"number": True}, "number is True: it must be a number."),
        ({"perhaps": "x"}, "perhaps is 'x': it must be a number, or none."),
        ({"count": 1.0}, "count is 1.0: it must be a whole number."),
        ({"count": True}, "count is True: it must be a whole number."),
        ({"switch": 1}, "switch is 1: it must be true or false."),
        ({"word": 1}, "word is 1: it must be text."),
    ],
)
def test_a_value_of_another_type_is_refused(settings, sentence):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        check(**settings)
    assert str(error.value) == sentence


def test_a_whole_number_is_a_number():
    check(number=3, perhaps=4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"count": 2**53 + 1}, "it must be at most 9007199254740992."),
        ({"count": -(2**53) - 1}, "it must be at most 9007199254740992."),
        ({"number": 1e38}, r"it must be at most 1e\+37."),
        ({"number": math.inf}, r"it must be at most 1e\+37."),
        ({"number": math.nan}, r"it must be at most 1e\+37."),
        ({"number": 1e-38}, "it must be at least 1e-37 in size."),
    ],
)
def test_sizes_that_files_or_float32_do_not_hold_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        check(**settings)
    check(count=2**53, number=0.0)


@pytest.mark.parametrize(
    ("limit", "allowed", "refused"),
    [
        (setting_checks.AT_LEAST_ONE, [1.0, 7.0], [0.0, -1.0]),
        (setting_checks.NOT_NEGATIVE, [0.0, 1.0], [-0.1]),
        (setting_checks.POSITIVE, [1e-9], [0.0, -1.0]),
        (setting_checks.FRACTION, [0.0, 1.0], [-0.1, 1.1]),
        (setting_checks.DECAY, [0.0, 0.999], [1.0, -0.1]),
        (setting_checks.NUM_NODES, [1.0, 1000.0], [0.0, 1001.0]),
    ],
)
def test_limits_include_their_ends_and_refuse_what_is_no_number(
    limit, allowed, refused
):
    for value in allowed:
        check({"number": limit, "perhaps": limit}, number=value)
    for value in [*refused, math.nan]:
        with pytest.raises(ValueError, match=f"number is {value}.* {limit.words}"):
            check({"number": limit}, number=value)
        with pytest.raises(ValueError, match=f"perhaps is {value}.* {limit.words}"):
            check({"perhaps": limit}, perhaps=value)


def test_a_word_must_be_one_of_those_allowed():
    limits = {"word": setting_checks.one_of(["one", "two"])}
    check(limits, word="two")
    with pytest.raises(ValueError, match="word is 'three': it must be one of one, two"):
        check(limits, word="three")
