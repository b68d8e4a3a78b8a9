"""A parameter store of one shard, in this process: for tests, threads, one process."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from acme import core as acme_core

from rlcomponents.parameters import gradients, shard, sharded_store, update_rules, wire
from rlcomponents.parameters import layout as layouts


class LocalStore(sharded_store.ShardedStore, acme_core.Saveable):
    """Holds its one shard itself. Thread-safe.

    Gives the same parameters, to the bit, as any number of shards elsewhere.
    """

    def __init__(
        self,
        layout: layouts.ParameterLayout,
        rule: update_rules.UpdateRule,
        learning_rate: Callable[[int], float],
        *,
        max_staleness_updates: int | None,
        target_period_updates: int | None,
        target_period_steps: int | None = None,
        max_gradient_norm: float | None = None,
    ) -> None:
        """Starts empty; see `ParameterShard` and `ShardedStore` for the settings.

        Raises:
            ValueError: A setting out of its range.
        """
        super().__init__(layout, 1, max_gradient_norm=max_gradient_norm)
        self._shard = shard.ParameterShard(
            rule,
            learning_rate,
            max_staleness_updates=max_staleness_updates,
            target_period_updates=target_period_updates,
            target_period_steps=target_period_steps,
        )

    def save(self) -> dict[str, np.ndarray | int]:
        """See `ParameterShard`."""
        return self._shard.save()

    def restore(self, state: Mapping[str, np.ndarray | int]) -> None:
        """See `ParameterShard`.

        Raises:
            ValueError: See `ParameterShard`; or saved for another network.
        """
        if "parameters" in state:
            gradients.check(np.asarray(state["parameters"]), self.layout, "saved state")
        self._shard.restore(state)

    def restore_if_empty(self, state: Mapping[str, np.ndarray | int]) -> bool:
        """Goes on from a saved state unless there are parameters already.

        For the one who makes the store, before others use it.

        Returns:
            Whether it does.
        """
        if self._shard.is_initialised:
            return False
        self.restore(state)
        return True

    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [
            wire.read_reply(getattr(self._shard, method)(*each)) for each in arguments
        ]
