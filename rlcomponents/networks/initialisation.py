"""Initial values that depend on a seed and on nothing else.

Workers of one program each build the network by themselves and must agree on its
initial values to the last bit, and so must an online network and its target.
TensorFlow's own seeds do not give that: its stateful generators go on between two
builds. Here a stateless generator draws each variable from the seed and its place.
"""

import math

import sonnet as snt
import tensorflow as tf


def initialise(module: snt.Module, seed: int) -> None:
    """Draws new values for all layers of a module whose variables exist.

        weights, biases ~ uniform(-1 / sqrt(fan_in), 1 / sqrt(fan_in))

    where fan_in is the number of inputs to one output unit. Reads and changes no
    global random state.

    Args:
        module: Holds its trainable variables in `snt.Linear` and `snt.Conv2D` layers.
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
    bounds = [
        (variable, 1.0 / math.sqrt(math.prod(layer.w.shape[:-1])))
        for layer in (module, *module.submodules)
        if isinstance(layer, (snt.Linear, snt.Conv2D))
        for variable in layer.trainable_variables
    ]
    num_variables = len(module.trainable_variables)
    if len(bounds) != num_variables:
        raise ValueError(
            f"{module.name} has {num_variables} trainable variables, {len(bounds)} of "
            "them in Linear and Conv2D layers: the others would keep values that "
            "differ between processes; use these layers only."
        )
    for place, (variable, bound) in enumerate(bounds):
        variable.assign(
            tf.random.stateless_uniform(
                variable.shape,
                seed=tf.constant([seed, place], tf.int64),
                minval=-bound,
                maxval=bound,
                alg="philox",
            )
        )
