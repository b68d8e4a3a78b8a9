"""What objects save: nested dicts of plain values and arrays; and JSON for them.

Read without pickle: a state from elsewhere can be wrong, but it cannot run code.
Numbers come back to the bit.
"""

import base64
import math
from typing import Any

import numpy as np

State = dict[str, Any]
"""Dicts by string, lists, `None`, bool, int, float, str and NumPy arrays."""

_ARRAY = "base64 of array"
_FLOAT = "hex of float64"  # Infinities and NaN, which JSON has no word for.


def to_json(state: Any) -> Any:
    """Returns a state as JSON has it; NumPy's scalars become Python's.

    Raises:
        TypeError: Something in it is none of `State`.
    """
    if isinstance(state, np.generic):
        state = state.item()
    if isinstance(state, dict):
        return {_checked_name(name): to_json(value) for name, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [to_json(value) for value in state]
    if isinstance(state, np.ndarray):
        if state.dtype.hasobject:
            raise TypeError(f"An array of {state.dtype} cannot be saved.")
        return {
            _ARRAY: base64.b64encode(np.ascontiguousarray(state).data).decode(),
            "dtype": state.dtype.str,
            "shape": list(state.shape),
        }
    if isinstance(state, float) and not math.isfinite(state):
        return {_FLOAT: np.array(state, ">f8").tobytes().hex()}
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    raise TypeError(f"A {type(state).__name__} cannot be saved: {state!r}.")


def from_json(value: Any) -> Any:
    """Returns the state of which `to_json` made `value`; tuples come back as lists.

    Raises:
        ValueError: An array or a number is not what it says.
    """
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _FLOAT in value:
        return np.frombuffer(bytes.fromhex(value[_FLOAT]), ">f8").item()
    if _ARRAY not in value:
        return {name: from_json(each) for name, each in value.items()}
    array = np.frombuffer(base64.b64decode(value[_ARRAY]), np.dtype(value["dtype"]))
    return array.reshape(value["shape"]).copy()


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or name in (_ARRAY, _FLOAT):
        raise TypeError(f"{name!r} cannot be a name in a saved state.")
    return name
