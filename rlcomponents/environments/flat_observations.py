"""Nested observations as one vector, for networks that take one array."""

from typing import Any

import dm_env
import numpy as np
import tree
from dm_env import specs

from rlcomponents.environments import wrappers


class FlatObservations(wrappers.EnvironmentWrapper):
    """Joins the parts of an observation into one `[F]` float32 vector.

    Always in the same order: dicts by their sorted names, each part flattened. Numbers
    keep their scale. A new array each step.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        """Wraps an environment.

        Args:
            environment: Its observation is an array of floats, or a nest of them.

        Raises:
            ValueError: A part is of another type, such as an image of uint8, which
                needs a network of its own.
        """
        super().__init__(environment)
        parts = tree.flatten_with_path(environment.observation_spec())
        for path, spec in parts:
            if not np.issubdtype(spec.dtype, np.floating):
                raise ValueError(
                    f"The part {'/'.join(map(str, path))!r} of the observation is "
                    f"{spec.dtype.name}: only floats can be joined to one vector; "
                    "convert it, or leave it out."
                )
        size = sum(int(np.prod(spec.shape)) for _, spec in parts)
        self._spec = specs.Array((size,), np.float32, "observation")

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._flatten(self._environment.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._flatten(self._environment.step(action))

    def observation_spec(self) -> specs.Array:
        """Returns the spec of the vector. It has no bounds."""
        return self._spec

    def _flatten(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        parts = [np.ravel(part) for part in tree.flatten(timestep.observation)]
        return timestep._replace(
            observation=np.concatenate(parts).astype(np.float32, copy=False)
        )
