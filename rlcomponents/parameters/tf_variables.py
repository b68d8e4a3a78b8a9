"""TensorFlow variables as one vector: filled from the store, flattened for it.

TensorFlow keeps NumPy memory that happens to be 64-byte aligned by reference (in
`constant`, `Variable` and even `assign`), so that a later write to the array would
change the variables. Here everything is copied first.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rlcomponents import aligned_arrays, direct_calls
from rlcomponents.parameters import layout as layouts


class FlatVariables:
    """Some float32 variables, in a fixed order, seen as one vector. Not thread-safe.

    Attributes:
        layout: Names and shapes of the variables, in their order.
    """

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        """Keeps the variables.

        Args:
            variables: Such as a module's `trainable_variables`, after a first call.

        Raises:
            ValueError: None at all, one twice, or one that is not float32.
        """
        self._variables = tuple(variables)
        for variable in self._variables:
            if variable.dtype != tf.float32:
                raise ValueError(
                    f"{variable.name!r} is {variable.dtype.name}: parameters travel as "
                    "float32."
                )
        if len({id(variable) for variable in self._variables}) < len(self._variables):
            raise ValueError("A variable is given twice: it can hold one value only.")
        self.layout = layouts.ParameterLayout(
            [variable.name for variable in self._variables],
            [variable.shape.as_list() for variable in self._variables],
        )
        # Read by TensorFlow while it splits the vector, and not kept. Memory that is
        # new each time would cost more than the copy: the kernel has to clear it. The
        # last number is no parameter: variables of which all begin and end at 64 bytes,
        # or a single one, would get this memory instead of a copy.
        self._buffer = aligned_arrays.empty(
            (self.layout.num_parameters + 1,), np.dtype(np.float32)
        )
        self._buffer[-1] = 0.0
        self._values = self._buffer[:-1]
        self._values[:] = self.vector()
        self._assign = direct_calls.DirectCall(self._assign_flat)

    def assign(self, vector: np.ndarray) -> None:
        """Sets the variables to the values of `vector`, which is free afterwards.

        Args:
            vector: `[num_parameters]` float32.

        Raises:
            ValueError: Another shape or dtype.
        """
        if vector.dtype != np.float32 or vector.shape != (self.layout.num_parameters,):
            raise ValueError(
                f"The vector is {vector.dtype} of shape {vector.shape}: these "
                f"variables take float32 of shape ({self.layout.num_parameters},)."
            )
        np.copyto(self._values, vector)
        self._assign(self._buffer)

    def array_of(self, variable: tf.Variable) -> np.ndarray:
        """Returns a view of what `assign` last gave a variable, now and later.

        Before the first `assign` it is what the variable was when this was made. What
        anybody else gives the variable is not seen.

        Args:
            variable: One of these.

        Returns:
            `[...]` float32 of the variable's shape, read-only.

        Raises:
            ValueError: It is not one of these.
        """
        views = self.layout.split(self._values)
        for own, view in zip(self._variables, views, strict=True):
            if own is variable:
                view.flags.writeable = False
                return view
        raise ValueError(
            f"{variable.name!r} is not among these {len(views)} variables: give all "
            "variables of the network."
        )

    def vector(self) -> np.ndarray:
        """Returns a copy of the variables' values, `[num_parameters]` float32."""
        return self.layout.join([variable.numpy() for variable in self._variables])

    @tf.autograph.experimental.do_not_convert  # AutoGraph knows no zip(strict=True).
    def flatten(self, tensors: Sequence[tf.Tensor | None]) -> tf.Tensor:
        """Returns the tensors, such as gradients, as one vector. For graphs too.

        Args:
            tensors: One float32 tensor or `tf.IndexedSlices` per variable, in order
                and shaped like it.

        Returns:
            `[num_parameters]` float32.

        Raises:
            ValueError: Another number of tensors, another shape, or None: the loss
                does not depend on that variable, which is hardly ever meant. Use
                `tape.gradient(..., unconnected_gradients="zero")` where it is.
        """
        if len(tensors) != len(self._variables):
            raise ValueError(
                f"{len(tensors)} tensors for {len(self._variables)} variables: give "
                "one each."
            )
        parts = []
        for variable, tensor in zip(self._variables, tensors, strict=True):
            if tensor is None:
                raise ValueError(
                    f"There is no gradient for {variable.name!r}: the loss does not "
                    "depend on it. Leave the variable out, or ask the tape for "
                    'unconnected_gradients="zero".'
                )
            tensor = tf.convert_to_tensor(tensor, tf.float32)
            if not tensor.shape.is_compatible_with(variable.shape):
                raise ValueError(
                    f"The tensor for {variable.name!r} has shape {tensor.shape}: the "
                    f"variable has {variable.shape}."
                )
            parts.append(tf.reshape(tensor, [variable.shape.num_elements()]))
        return tf.concat(parts, axis=0)

    def _assign_flat(self, vector: tf.Tensor) -> tuple[()]:
        sizes = [variable.shape.num_elements() for variable in self._variables]
        *parts, _ = tf.split(vector, [*sizes, 1])
        for variable, part in zip(self._variables, parts, strict=True):
            variable.assign(tf.reshape(part, variable.shape))
        return ()
