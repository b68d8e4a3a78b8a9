"""An actor that follows action values, but for a share of random actions."""

from collections.abc import Callable

import dm_env
import numpy as np
from acme import adders
from acme import core as acme_core

from rlcomponents import exploration


class EpsilonGreedyActor(acme_core.Actor):
    """Acts epsilon-greedily and hands every step to an adder. Not thread-safe."""

    def __init__(
        self,
        q_values: Callable[[np.ndarray], np.ndarray],
        epsilon: Callable[[], float],
        rng: np.random.Generator,
        *,
        adder: adders.Adder | None = None,
        update: Callable[[bool], None] | None = None,
    ) -> None:
        """Stores its parts.

        Args:
            q_values: Maps one observation, without batch axis, to `[A]` float32.
            epsilon: Returns the chance of a random action now, in [0, 1].
            rng: Source of the random actions.
            adder: Takes the experience; none while evaluating.
            update: Keeps the parameters fresh: called after every step, with whether to
                wait for the newest. `update` of Acme's `VariableClient` is one.
        """
        self._q_values = q_values
        self._epsilon = epsilon
        self._rng = rng
        self._adder = adder
        self._update = update

    def select_action(self, observation: np.ndarray) -> np.ndarray:
        """Returns an action, a scalar int32."""
        values = self._q_values(observation)
        action = exploration.epsilon_greedy(values, self._epsilon(), self._rng)
        return np.asarray(action, np.int32)

    def observe_first(self, timestep: dm_env.TimeStep) -> None:
        """Starts an episode."""
        if self._adder is not None:
            self._adder.add_first(timestep)

    def observe(self, action: np.ndarray, next_timestep: dm_env.TimeStep) -> None:
        """Records one step."""
        if self._adder is not None:
            self._adder.add(action, next_timestep)

    def update(self, wait: bool = False) -> None:
        """Refreshes the parameters, where an `update` was given."""
        if self._update is not None:
            self._update(wait)
