"""From observation to features: the published convolutional stacks, and an MLP.

A torso ends before the last hidden layer, which belongs to the head.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sonnet as snt
import tensorflow as tf


class Convolution(NamedTuple):
    """One square convolution without padding, followed by a ReLU."""

    channels: int
    kernel: int
    stride: int


NATURE_DQN = (Convolution(32, 8, 4), Convolution(64, 4, 2), Convolution(64, 3, 1))
"""Mnih et al. 2015, https://doi.org/10.1038/nature14236; then 512 hidden units."""

NIPS_DQN = (Convolution(16, 8, 4), Convolution(32, 4, 2))
"""Mnih et al. 2013, https://arxiv.org/abs/1312.5602; then 256 hidden units."""

MINATAR = (Convolution(16, 3, 1),)
"""Young and Tian 2019, https://arxiv.org/abs/1903.03176; then 128 hidden units."""


class ConvTorso(snt.Module):
    """Convolutions over an image, flattened."""

    def __init__(
        self, convolutions: Sequence[Convolution], name: str | None = None
    ) -> None:
        """Stores the layers; variables are created on the first call."""
        super().__init__(name=name)
        self._layers = [
            snt.Conv2D(
                layer.channels,
                layer.kernel,
                layer.stride,
                padding="VALID",
                name=f"convolution_{index}",
            )
            for index, layer in enumerate(convolutions)
        ]

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Maps images `[B, H, W, C]`, scaled by `as_float`, to features `[B, F]`."""
        features = as_float(images)
        for layer in self._layers:
            features = tf.nn.relu(layer(features))
        return snt.flatten(features)


class MLPTorso(snt.Module):
    """The observation, flattened, then fully connected layers with ReLUs."""

    def __init__(self, hidden_sizes: Sequence[int], name: str | None = None) -> None:
        """Stores the layers; with no sizes the features are the observation."""
        super().__init__(name=name)
        self._layers = [
            snt.Linear(size, name=f"linear_{index}")
            for index, size in enumerate(hidden_sizes)
        ]

    def __call__(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps observations `[B, ...]`, scaled by `as_float`, to features `[B, F]`."""
        features = snt.flatten(as_float(observations))
        for layer in self._layers:
            features = tf.nn.relu(layer(features))
        return features


def as_float(observations: tf.Tensor) -> tf.Tensor:
    """Converts to float32: uint8 to [0, 1], bool to 0 and 1, floats as they are."""
    floats = tf.cast(observations, tf.float32)
    return floats * (1.0 / 255.0) if observations.dtype == tf.uint8 else floats


def output_size(convolutions: Sequence[Convolution], size: int) -> int:
    """Returns the height (or width) after the convolutions; below 1: too small."""
    for layer in convolutions:
        size = (size - layer.kernel) // layer.stride + 1
    return size
