"""A replay that is a list: an adder that appends to it, batches drawn from it.

No Reverb, no server, no thread, so that actors and learners can be stepped by hand:

    adder = fake_replay.RecordingAdder(discount=0.99)
    source = fake_replay.ListBatches(adder.transitions, batch_size=4)
"""

import collections
from collections.abc import Sequence
from typing import Any

import dm_env
import numpy as np
import tensorflow as tf
import tree
from acme import adders as acme_adders

from rlcomponents.replay import n_step, transitions


class RecordingAdder(acme_adders.Adder):
    """Keeps the transitions that a `replay.adders.TransitionAdder` would send.

    Attributes:
        transitions: All so far, oldest first, as NumPy values of their own memory.
    """

    def __init__(
        self,
        *,
        discount: float,
        num_steps: int = 1,
        max_abs_reward: float | None = None,
    ) -> None:
        """Starts empty; the arguments are those of `TransitionAdder`."""
        self.transitions: list[transitions.Transition] = []
        self._returns = n_step.NStepReturns(num_steps, discount, max_abs_reward)
        self._observations: collections.deque[Any] = collections.deque(
            maxlen=num_steps + 1
        )

    def add_first(self, timestep: dm_env.TimeStep) -> None:
        """Begins an episode."""
        if not timestep.first():
            raise ValueError("add_first takes a FIRST step.")
        self.reset()
        self._observations.append(tree.map_structure(np.array, timestep.observation))

    def add(
        self, action: Any, next_timestep: dm_env.TimeStep, extras: Any = ()
    ) -> None:
        """Adds a step; `extras` are ignored."""
        if not self._observations:
            raise ValueError("add was called before add_first began an episode.")
        newest = tree.map_structure(np.array, next_timestep.observation)
        self._observations.append(newest)
        items = self._returns.add(
            int(action),
            float(next_timestep.reward),
            float(next_timestep.discount),
            last=next_timestep.last(),
        )
        for item in items:
            self.transitions.append(
                transitions.Transition(
                    self._observations[-1 - item.num_steps],
                    np.int32(item.action),
                    np.float32(item.reward),
                    np.float32(item.discount),
                    newest,
                )
            )
        if next_timestep.last():
            self.reset()

    def reset(self) -> None:
        """Forgets the unfinished episode; what was recorded stays."""
        self._returns.reset()
        self._observations.clear()


class ListBatches:
    """A `transitions.BatchSource` over a list, which may grow meanwhile."""

    def __init__(
        self,
        items: Sequence[transitions.Transition],
        *,
        batch_size: int,
        min_items: int = 1,
        seed: int = 0,
    ) -> None:
        """Draws nothing yet.

        Args:
            items: Single transitions. Read anew for each batch.
            batch_size: Transitions in a batch, drawn uniformly with replacement.
            min_items: Items without which there is no batch.
            seed: Of the draws.
        """
        self._items = items
        self._batch_size = batch_size
        self._min_items = min_items
        self._rng = np.random.default_rng(seed)

    def next_batch(self, timeout_secs: float) -> transitions.Transition | None:
        """Returns a batch at once, or None at once: nobody else could add to it."""
        del timeout_secs
        if len(self._items) < self._min_items:
            return None
        chosen = self._rng.integers(len(self._items), size=self._batch_size)
        return tree.map_structure(
            lambda *leaves: tf.convert_to_tensor(np.stack(leaves)),
            *(self._items[index] for index in chosen),
        )

    def close(self) -> None:
        """Does nothing."""
