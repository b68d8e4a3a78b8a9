"""Loops over arrays, compiled.

They are compiled at their first call and cached on disk (next to their file, or in the
user's cache folder where that is read-only). They release the GIL, so that threads
overlap. No fast-math: it lets rounding depend on where a loop is cut.
"""

import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

_P = ParamSpec("_P")
_R = TypeVar("_R")


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compiles at the first call, once a machine where there is a folder to cache in.

    The NumPy error model (no check for a division by 0) lets loops use vector
    instructions.
    """
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError as error:
        warnings.warn(
            f"{error}: every process compiles its loops again, which takes a second. "
            "Set NUMBA_CACHE_DIR to a folder that can be written.",
            stacklevel=2,
        )
        return numba.njit(nogil=True, error_model="numpy")(function)
