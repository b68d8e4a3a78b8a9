"""Initial values that depend on a seed and on nothing else.

Workers of one program each build the network by themselves and must agree on its
initial values to the last bit, and so must an online network and its target.
TensorFlow's own seeds do not give that: its stateful generators go on between two
builds. Here a stateless generator draws each variable from the seed and its place.
"""

import math
from collections.abc import Iterator

import sonnet as snt
import tensorflow as tf

FORGET_BIAS = 1.0
"""Added to the biases of an LSTM's forget gates, so that it remembers from the start.

Jozefowicz et al. 2015, https://proceedings.mlr.press/v37/jozefowicz15.html
"""


def initialise(module: snt.Module, seed: int) -> None:
    """Draws new values for all layers of a module whose variables exist.

        weights, biases ~ uniform(-1 / sqrt(fan_in), 1 / sqrt(fan_in))

    where fan_in is the number of inputs to one output unit. An LSTM is drawn as two
    linear layers, one on its input, which has the biases, and one on its hidden state;
    then `FORGET_BIAS` is added. Reads and changes no global random state.

    Args:
        module: Holds its trainable variables in `snt.Linear`, `snt.Conv2D` and
            `snt.LSTM` layers, these without a projection.
        seed: Any signed int of 64 bits. Equal seeds give bit-identical values to
            modules of equal layers, in every process.

    Raises:
        ValueError: The module has no variables yet, or some in other kinds of layers.

    Reference:
        The scheme of the Torch framework in which DQN and the asynchronous methods
        were written; for the latter confirmed by their authors
        (https://github.com/muupan/async-rl/wiki). LeCun et al. 1998, section 4.6,
        without its factor sqrt(3).
    """
    layers = (module, *module.submodules)
    fan_ins = [pair for layer in layers for pair in _fan_ins(layer)]
    num_variables = len(module.trainable_variables)
    if len(fan_ins) != num_variables:
        raise ValueError(
            f"{module.name} has {num_variables} trainable variables, {len(fan_ins)} of "
            "them in Linear, Conv2D and LSTM layers: the others would keep values that "
            "differ between processes; use these layers only."
        )
    for place, (variable, fan_in) in enumerate(fan_ins):
        bound = 1.0 / math.sqrt(fan_in)
        variable.assign(
            tf.random.stateless_uniform(
                variable.shape,
                seed=tf.constant([seed, place], tf.int64),
                minval=-bound,
                maxval=bound,
                alg="philox",
            )
        )
    for layer in layers:
        if isinstance(layer, snt.LSTM):
            size = layer.b.shape[0] // 4  # Gates: input, forget, cell, output.
            forget = layer.b[size : 2 * size]
            forget.assign(forget + FORGET_BIAS)


def check_unbuilt(*parts: snt.Module) -> None:
    """Checks that the parts of a new network belong to no other.

    Raises:
        ValueError: A part has variables already, or is there twice: so variables would
            be shared where none are meant to be.
    """
    for part in parts:
        # Without the marker, Sonnet raises where there are none.
        if snt.allow_empty_variables(part).variables or parts.count(part) > 1:
            raise ValueError(
                f"{part.name} has variables already, or is two parts at once: two "
                "networks would share them; construct new parts for each network."
            )


def _fan_ins(layer: snt.Module) -> Iterator[tuple[tf.Variable, int]]:
    """Yields the variables of one layer, each with the number of inputs to a unit."""
    if isinstance(layer, (snt.Linear, snt.Conv2D)):
        for variable in layer.trainable_variables:
            yield variable, math.prod(layer.w.shape[:-1])
    elif isinstance(layer, snt.LSTM):
        input_size, hidden_size = (
            weights.shape[0]
            for weights in (layer.input_to_hidden, layer.hidden_to_hidden)
        )
        yield layer.b, input_size
        yield layer.input_to_hidden, input_size
        yield layer.hidden_to_hidden, hidden_size
