"""Arrays that TensorFlow takes where they are, without a copy."""

import math

import numpy as np

_ALIGNMENT_BYTES = 64


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns a new array of any content, whose memory begins where TensorFlow asks."""
    num_bytes = math.prod(shape) * dtype.itemsize
    memory = np.empty(num_bytes + _ALIGNMENT_BYTES, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT_BYTES
    return memory[start : start + num_bytes].view(dtype).reshape(shape)
