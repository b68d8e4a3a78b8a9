import json

import numpy as np
import pytest

from rlcomponents import states


def _there_and_back(state):
    return states.from_json(json.loads(json.dumps(states.to_json(state))))


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


def test_scalars_of_numpy_become_plain():
    back = _there_and_back([np.int64(3), np.float32(0.1), np.bool_(True)])
    assert back == [3, float(np.float32(0.1)), True]
    assert [type(value) for value in back] == [int, float, bool]


@pytest.mark.parametrize(
    "state", [{"a": object()}, {1: 2}, np.array([None]), {"base64 of array": 1}]
)
def test_what_has_no_plain_form_is_refused(state):
    with pytest.raises(TypeError, match="saved"):
        states.to_json(state)
