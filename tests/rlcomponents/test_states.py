import json
import math
import struct

import numpy as np
import pytest

from rlcomponents import states


def _there_and_back(state):
    text = json.dumps(states.to_json(state), allow_nan=False)
    return states.from_json(json.loads(text))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.array(0.1, np.float32),
        np.zeros((0, 4), np.float64),
        np.array([True, False]),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    ],
)
def test_arrays_come_back_as_they_were(array):
    back = _there_and_back({"array": array})["array"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    back[...] = 1  # Of its own memory.


def test_plain_values_come_back_to_the_bit():
    state = {"a": {"b": [1, None, True, "x"]}, "big": 2**127 + 1, "float": 0.1 + 0.2}
    assert _there_and_back(state) == state


@pytest.mark.parametrize(
    "bits",
    [
        pytest.param("7ff0000000000000", id="inf"),
        pytest.param("fff0000000000000", id="-inf"),
        pytest.param("7ff8000000000000", id="nan"),
        pytest.param("fff8000000000123", id="nan-of-other-bits"),
    ],
)
def test_numbers_that_json_has_no_word_for_come_back_to_the_bit(bits):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    back = _there_and_back({"best": [value]})["best"][0]
    assert type(back) is float
    assert struct.pack(">d", back).hex() == bits


def test_infinities_of_numpy_become_plain():
    back = _there_and_back([np.float32("inf"), np.float64("-inf")])
    assert back == [math.inf, -math.inf]
    assert [type(value) for value in back] == [float, float]


def test_a_nan_that_was_written_as_such_is_still_read():
    back = states.from_json(json.loads('{"best": -Infinity, "last": NaN}'))
    assert back["best"] == -math.inf
    assert math.isnan(back["last"])


def test_a_number_that_is_not_what_it_says_is_refused():
    with pytest.raises(ValueError, match="size"):
        states.from_json({"hex of float64": "7ff0"})


def test_scalars_of_numpy_become_plain():
    back = _there_and_back([np.int64(3), np.float32(0.1), np.bool_(True)])
    assert back == [3, float(np.float32(0.1)), True]
    assert [type(value) for value in back] == [int, float, bool]


@pytest.mark.parametrize(
    "state",
    [
        {"a": object()},
        {1: 2},
        np.array([None]),
        np.longdouble(1),
        {"base64 of array": 1},
        {"hex of float64": 1},
    ],
)
def test_what_has_no_plain_form_is_refused(state):
    with pytest.raises(TypeError, match="saved"):
        states.to_json(state)
