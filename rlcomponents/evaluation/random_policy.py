"""The policy that knows nothing: the level which an agent has to beat."""

import dm_env
import numpy as np
from acme import core as acme_core
from dm_env import specs


class RandomActor(acme_core.Actor):
    """Draws each action uniformly from the action spec, whatever it observes."""

    def __init__(self, action_spec: specs.BoundedArray, seed: int) -> None:
        """Takes the actions to draw from.

        Args:
            action_spec: Of integers (both bounds included) or of floats.
            seed: Of the draws.

        Raises:
            ValueError: The spec has no finite bounds.
        """
        if not isinstance(action_spec, specs.BoundedArray) or not (
            np.all(np.isfinite(action_spec.minimum))
            and np.all(np.isfinite(action_spec.maximum))
        ):
            raise ValueError(
                f"No uniform draw from {action_spec}: give a spec with finite bounds."
            )
        self._spec = action_spec
        self._rng = np.random.default_rng(seed)

    def select_action(self, observation: np.ndarray) -> np.ndarray:
        """Returns an action of the spec's shape and dtype."""
        spec = self._spec
        if np.issubdtype(spec.dtype, np.integer):
            action = self._rng.integers(
                spec.minimum, spec.maximum, size=spec.shape, endpoint=True
            )
        else:
            action = self._rng.uniform(spec.minimum, spec.maximum, size=spec.shape)
        return np.asarray(action, spec.dtype)

    def observe_first(self, timestep: dm_env.TimeStep) -> None:
        """Learns nothing."""

    def observe(self, action: np.ndarray, next_timestep: dm_env.TimeStep) -> None:
        """Learns nothing."""

    def update(self, wait: bool = False) -> None:
        """Learns nothing."""
