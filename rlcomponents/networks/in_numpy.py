"""Forward passes in NumPy, for acting.

Of the time that TensorFlow takes for one small observation, most is not arithmetic: the
call, kernels handed to another thread, weights brought into another order. The products
themselves take a fifth of it, and NumPy hardly more. Gradients are TensorFlow's.

A module of `rlcomponents.networks` has a method `in_numpy`, which puts its forward pass
together from the layers here. These read the arrays that they were given, at each call.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sonnet as snt
import tensorflow as tf
from numpy.lib import stride_tricks

ArrayOf = Callable[[tf.Variable], np.ndarray]
"""Maps a variable to an array that always holds its value, such as
`rlcomponents.parameters.tf_variables.FlatVariables.array_of`."""

Layer = Callable[[np.ndarray], np.ndarray]
"""Maps `[N, ...]` to `[N, ...]` float32. What a layer with a ReLU returns is its own:
the next call overwrites it."""

_SCRATCH_BYTES = 1 << 19
"""Of patches at a time: they have to stay in a core's cache."""


def convert(module: snt.Module, array_of: ArrayOf) -> Any:
    """Returns what `module.in_numpy` does; None where it has no such method.

    None also stands for a module that was composed of parts of which one has none, and
    for one whose class overrides `__call__` or `unroll` alone: what it inherits is the
    forward pass of another. Where TensorFlow sees a GPU there is none at all: that is
    faster then.
    """
    if tf.config.list_logical_devices("GPU"):
        return None
    for kind in type(module).__mro__:
        if "in_numpy" in vars(kind):
            return module.in_numpy(array_of)
        if not vars(kind).keys().isdisjoint(("__call__", "unroll")):
            return None
    return None


def as_float(observations: np.ndarray) -> np.ndarray:
    """Does what `torsos.as_float` does; a copy, but for float32."""
    if observations.dtype != np.uint8:
        return observations.astype(np.float32, copy=False)
    scaled = observations.astype(np.float32)
    scaled *= np.float32(1.0 / 255.0)
    return scaled


class Linear:
    """A fully connected layer, with a ReLU or without. Not thread-safe."""

    def __init__(self, layer: snt.Linear, array_of: ArrayOf, *, relu: bool) -> None:
        """Takes the layer's weights and biases, which must exist."""
        self._weights = array_of(layer.w)  # [I, O]
        self._biases = (
            array_of(layer.b)
            if layer.with_bias
            else np.zeros(layer.output_size, np.float32)
        )  # [O]
        self._relu = relu
        self._outputs = np.empty((0, layer.output_size), np.float32)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Maps `[N, I]` to `[N, O]`."""
        if not self._relu:
            return inputs @ self._weights + self._biases
        if len(inputs) != len(self._outputs):
            self._outputs = np.empty((len(inputs), len(self._biases)), np.float32)
        np.matmul(inputs, self._weights, out=self._outputs)
        return _rectify(self._outputs, self._biases)


class Convolution:
    """A square convolution without padding, then a ReLU. Not thread-safe.

    The patches of an image are written side by side, so that one product of matrices
    does the rest.
    """

    def __init__(self, layer: snt.Conv2D, array_of: ArrayOf) -> None:
        """Takes the layer's weights and biases, which must exist."""
        self._weights = array_of(layer.w)  # [K, K, I, O]
        self._biases = array_of(layer.b)
        self._stride = layer.stride
        self._outputs = np.empty((0, 0, 0, layer.output_channels), np.float32)
        self._patches = np.empty((0, 0, 0, 0, 0), np.float32)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Maps `[N, H, W, I]` to `[N, H', W', O]`."""
        windows = self._windows(images)
        if len(images) != len(self._outputs):
            self._outputs = np.empty(
                (*windows.shape[:3], len(self._biases)), np.float32
            )
            image_bytes = 4 * math.prod(windows.shape[1:])
            num_at_once = max(1, min(len(images), _SCRATCH_BYTES // image_bytes))
            self._patches = np.empty((num_at_once, *windows.shape[1:]), np.float32)
        weights = self._weights.reshape(-1, len(self._biases))
        for start in range(0, len(images), len(self._patches)):
            part = windows[start : start + len(self._patches)]
            patches = self._patches[: len(part)]
            np.copyto(patches, part)
            outputs = self._outputs[start : start + len(part)]
            np.matmul(
                patches.reshape(-1, len(weights)),
                weights,
                out=outputs.reshape(-1, len(self._biases)),
            )
        return _rectify(self._outputs, self._biases)

    def _windows(self, images: np.ndarray) -> np.ndarray:
        """Returns a view `[N, H', W', K, K * I]` of contiguous images."""
        images = np.ascontiguousarray(images)
        num_images, height, width, channels = images.shape
        kernel = len(self._weights)
        of_image, of_row, of_column, of_channel = images.strides
        return stride_tricks.as_strided(
            images,
            (
                num_images,
                (height - kernel) // self._stride + 1,
                (width - kernel) // self._stride + 1,
                kernel,
                kernel * channels,
            ),
            (
                of_image,
                of_row * self._stride,
                of_column * self._stride,
                of_row,
                of_channel,
            ),
            writeable=False,
        )


class LSTM:
    """LSTM cells, one step at a time. Not thread-safe."""

    def __init__(self, layer: snt.LSTM, array_of: ArrayOf) -> None:
        """Takes the layer's weights and biases, which must exist."""
        self._input_to_hidden = array_of(layer.input_to_hidden)
        self._hidden_to_hidden = array_of(layer.hidden_to_hidden)
        self._biases = array_of(layer.b)

    def __call__(
        self, inputs: np.ndarray, hidden: np.ndarray, cell: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Maps inputs `[N, I]` and a state to the next hidden and cell, `[N, S]`."""
        gates = inputs @ self._input_to_hidden
        gates += hidden @ self._hidden_to_hidden
        gates += self._biases
        entry, forget, candidate, output = np.split(gates, 4, axis=1)
        next_cell = _sigmoid(forget) * cell + _sigmoid(entry) * np.tanh(candidate)
        return _sigmoid(output) * np.tanh(next_cell), next_cell


def sequence(layers: list[Layer]) -> Layer:
    """Returns one layer after another as one."""

    def apply(inputs: np.ndarray) -> np.ndarray:
        for layer in layers:
            inputs = layer(inputs)
        return inputs

    return apply


def mlp(module: snt.nets.MLP, array_of: ArrayOf) -> Layer:
    """Returns the layers of an MLP with ReLUs between them."""
    layers = [part for part in module.submodules if isinstance(part, snt.Linear)]
    return sequence(
        [Linear(layer, array_of, relu=layer is not layers[-1]) for layer in layers]
    )


def flatten(inputs: np.ndarray) -> np.ndarray:
    """Returns a view `[N, F]`, or a copy where there is none."""
    return inputs.reshape(len(inputs), -1)


def _rectify(outputs: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Adds the biases, and cuts off below 0, in place."""
    outputs += biases
    return np.maximum(outputs, 0, out=outputs)


def _sigmoid(inputs: np.ndarray) -> np.ndarray:
    """Returns the logistic function, without overflow."""
    return 0.5 * np.tanh(0.5 * inputs) + 0.5
