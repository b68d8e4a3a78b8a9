"""TensorFlow functions, called with nothing around them but their graph.

Calling a `tf.function` looks for a trace, compares the arguments with its signature,
and lets another thread run the graph while this one waits. That takes 0.1 to 0.3 ms, as
long as a small network takes to act on an observation. Here the graph is run by a
single operation, in the thread that asks for it.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tree


class DirectCall:
    """A function of tensors, traced for the shapes that it meets.

    With a second shape of an argument comes a trace for any. Results are to the bit
    those of a `tf.function`. No gradient goes through a call: the tape has to be in
    the function. Not thread-safe.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Traces nothing yet.

        Args:
            function: Maps tensors, or nests of them, to a nest of tensors, `()` where
                it returns nothing. AutoGraph leaves it as it is. The variables that it
                reads or writes must exist.
        """
        self._function = tf.function(function, autograph=False, reduce_retracing=True)
        self._graphs: dict[tuple[Any, ...], Any] = {}

    @property
    def num_traces(self) -> int:
        """How often the function has been traced."""
        return self._function.experimental_get_tracing_count()

    def __call__(self, *arguments: Any) -> Any:
        """Runs the graph.

        Args:
            *arguments: Arrays or tensors, or nests of them; always of the same dtypes.

        Returns:
            What the function does, of eager tensors.
        """
        leaves = tree.flatten(arguments)
        shapes = tuple(leaf.shape for leaf in leaves)
        tensors = [tf.constant(leaf) for leaf in leaves]
        graph = self._graphs.get(shapes)
        if graph is None:
            graph = self._function.get_concrete_function(
                *tree.unflatten_as(arguments, tensors)
            )
            self._graphs[shapes] = graph
        results = tf.raw_ops.StatefulPartitionedCall(
            args=tensors + graph.captured_inputs,
            Tout=tree.flatten(graph.output_dtypes),
            f=graph,
        )
        return tree.unflatten_as(graph.output_dtypes, results)
