"""Where each variable lies in the one vector that parameters travel as.

NumPy only. The order is that of the network's `trainable_variables`; names serve
messages, and need not be unique.
"""

import bisect
import itertools
import json
import math
from collections.abc import Sequence

import numpy as np


class ParameterLayout:
    """Maps float32 variables to one contiguous vector, and cuts it into shards.

    Immutable; compares by value. Variables follow each other without gaps, each in
    C order.

    Attributes:
        names: One per variable.
        shapes: One per variable; `()` is a scalar.
        num_parameters: Length of the vector.
    """

    def __init__(self, names: Sequence[str], shapes: Sequence[Sequence[int]]) -> None:
        """Stores names and shapes.

        Raises:
            ValueError: No parameters at all, a dimension that is not known, or names
                and shapes that do not pair up.
        """
        self.names = tuple(str(name) for name in names)
        self.shapes = tuple(tuple(int(d) for d in shape) for shape in shapes)
        if len(self.names) != len(self.shapes):
            raise ValueError(
                f"{len(self.names)} names for {len(self.shapes)} shapes: give one each."
            )
        for name, shape in zip(self.names, self.shapes, strict=True):
            if any(dimension < 0 for dimension in shape):
                raise ValueError(f"{name!r} has shape {shape}: it must be known.")
        sizes = (math.prod(shape) for shape in self.shapes)
        self._offsets = tuple(itertools.accumulate(sizes, initial=0))
        self.num_parameters = self._offsets[-1]
        if self.num_parameters == 0:
            raise ValueError(
                "No parameters: create the network's variables (call it once on an "
                "observation) before taking its layout."
            )

    def __eq__(self, other: object) -> bool:
        """Compares names and shapes, in order."""
        if not isinstance(other, ParameterLayout):
            return NotImplemented
        return (self.names, self.shapes) == (other.names, other.shapes)

    def __hash__(self) -> int:
        """Agrees with `==`."""
        return hash((self.names, self.shapes))

    def __repr__(self) -> str:
        """Says how many, not which: networks have dozens of variables."""
        return (
            f"ParameterLayout({len(self.names)} variables, "
            f"{self.num_parameters} parameters)"
        )

    def split(self, vector: np.ndarray) -> list[np.ndarray]:
        """Returns the variables' parts of `vector`, as views of it.

        Views: what is written to one shows in `vector`, and the other way round.

        Args:
            vector: `[num_parameters]`, contiguous, of any dtype.

        Returns:
            One array per variable, in order and shaped like it.

        Raises:
            ValueError: Another length or rank.
        """
        if vector.shape != (self.num_parameters,):
            raise ValueError(
                f"The vector has shape {vector.shape}: this layout has "
                f"({self.num_parameters},)."
            )
        return [
            vector[start:stop].reshape(shape)
            for (start, stop), shape in zip(
                itertools.pairwise(self._offsets), self.shapes, strict=True
            )
        ]

    def join(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Returns a new `[num_parameters]` float32 vector with the arrays' values.

        Args:
            arrays: One float32 array per variable, in order and shaped like it.

        Raises:
            ValueError: Another number of arrays, another shape, or not float32.
        """
        if len(arrays) != len(self.shapes):
            raise ValueError(
                f"{len(arrays)} arrays for {len(self.shapes)} variables: give one each."
            )
        vector = np.empty(self.num_parameters, np.float32)
        parts = self.split(vector)
        for name, part, array in zip(self.names, parts, arrays, strict=True):
            array = np.asarray(array)
            if array.shape != part.shape or array.dtype != np.float32:
                raise ValueError(
                    f"{name!r} is float32 of shape {part.shape}: got {array.dtype} of "
                    f"shape {array.shape}."
                )
            part[...] = array
        return vector

    def shard_slices(self, num_shards: int) -> tuple[slice, ...]:
        """Cuts the vector into contiguous ranges whose sizes differ by at most one.

        A cut may go through a variable: update rules are element-wise, so balance
        need not depend on the network's shapes.

        Raises:
            ValueError: Fewer than one shard, or more shards than parameters.
        """
        if not 1 <= num_shards <= self.num_parameters:
            raise ValueError(
                f"{num_shards} parameter shards: give 1 to {self.num_parameters}, the "
                "number of parameters."
            )
        size, larger = divmod(self.num_parameters, num_shards)
        starts = [size * i + min(i, larger) for i in range(num_shards + 1)]
        return tuple(slice(*ends) for ends in itertools.pairwise(starts))

    def name_at(self, index: int) -> str:
        """Returns the name of the variable that holds parameter `index`."""
        return self.names[bisect.bisect_right(self._offsets, index) - 1]

    def to_json(self) -> str:
        """Returns the layout as text: equal texts for equal layouts only."""
        return json.dumps({"names": self.names, "shapes": self.shapes})
