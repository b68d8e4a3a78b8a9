"""From observation to features: a stack of convolutions, and an MLP.

A torso ends before the last hidden layer, which belongs to the head.
"""

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf

from rlcomponents.networks import in_numpy, kinds


class ConvTorso(snt.Module):
    """Convolutions over an image, flattened."""

    def __init__(
        self, convolutions: Sequence[kinds.Convolution], name: str | None = None
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

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer:
        """Returns the forward pass in NumPy."""
        layers = [in_numpy.Convolution(layer, array_of) for layer in self._layers]
        return in_numpy.sequence([in_numpy.as_float, *layers, in_numpy.flatten])


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

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer:
        """Returns the forward pass in NumPy."""
        layers = [in_numpy.Linear(layer, array_of, relu=True) for layer in self._layers]
        return in_numpy.sequence([in_numpy.as_float, in_numpy.flatten, *layers])


class HiddenTorso(snt.Module):
    """Convolutions, then a fully connected layer with a ReLU."""

    def __init__(
        self, convolutions: ConvTorso, hidden: snt.Linear, name: str | None = None
    ) -> None:
        """Stores the layers; variables are created on the first call."""
        super().__init__(name=name)
        self._convolutions = convolutions
        self._hidden = hidden

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Maps images `[B, H, W, C]`, scaled by `as_float`, to features `[B, F]`."""
        return tf.nn.relu(self._hidden(self._convolutions(images)))

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer | None:
        """Returns the forward pass in NumPy; None where the convolutions have none."""
        convolutions = in_numpy.convert(self._convolutions, array_of)
        if convolutions is None:
            return None
        hidden = in_numpy.Linear(self._hidden, array_of, relu=True)
        return in_numpy.sequence([convolutions, hidden])


def as_float(observations: tf.Tensor) -> tf.Tensor:
    """Converts to float32: uint8 to [0, 1], bool to 0 and 1, floats as they are."""
    if observations.dtype != tf.uint8:
        return tf.cast(observations, tf.float32)
    if tf.config.list_logical_devices("GPU"):  # Has no kernel for what is below.
        return tf.cast(observations, tf.float32) * (1.0 / 255.0)
    # The same product, to the bit, in a quarter of the time: TensorFlow casts bytes one
    # by one on a CPU, which took an eighth of the gradient of a small network.
    return tf.quantization.dequantize(
        tf.bitcast(observations, tf.quint8), 0.0, 1.0, mode="SCALED"
    )
