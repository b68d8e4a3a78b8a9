"""What a shard, or a store in memory, saves of itself, and how that is read."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import shard_rules, update_rules


class ShardStatistics(NamedTuple):
    """One shard's counts.

    Attributes:
        steps: Agent steps counted.
        updates: Gradients applied.
        discarded_stale: Gradients discarded for their age.
        discarded_other_epoch: Gradients discarded because they came from before the
            shard was restored.
        staleness_sum_updates: Staleness of all gradients applied, added up.
    """

    steps: int = 0
    updates: int = 0
    discarded_stale: int = 0
    discarded_other_epoch: int = 0
    staleness_sum_updates: int = 0

    def as_store(self) -> core.StoreStatistics:
        """Returns the counts of a store whose shard 0 this is."""
        return core.StoreStatistics(
            steps=self.steps,
            updates=self.updates,
            discarded_stale=self.discarded_stale + self.discarded_other_epoch,
            mean_staleness_updates=self.staleness_sum_updates / max(1, self.updates),
        )


class SavedState(NamedTuple):
    """What a state that was saved holds, checked.

    Attributes:
        epoch: The shard's, when it was saved.
        counts: The shard's.
        parameters: `[size]` float32. None: the shard was not initialised.
        slots: The update rule's statistics.
        target: `[size]` float32, the target copy. None: none is kept.
        target_version: At which it was taken.
    """

    epoch: int
    counts: ShardStatistics
    parameters: np.ndarray | None
    slots: update_rules.State
    target: np.ndarray | None
    target_version: core.Version


def read(
    state: Mapping[str, np.ndarray | int], rules: shard_rules.ShardRules
) -> SavedState:
    """Returns copies of what `save` returned.

    Args:
        state: From `save` of a shard, or of a store in memory.
        rules: Of the shard that is to go on from it.

    Raises:
        ValueError: Saved under another update rule, or without the target copy that
            is to be kept.
    """
    try:
        epoch = int(state["epoch"])
        counts = ShardStatistics(*(int(state[n]) for n in ShardStatistics._fields))
        if "parameters" not in state:
            return SavedState(epoch, counts, None, {}, None, core.Version(epoch, 0))
        parameters = np.array(state["parameters"], np.float32)
        slots = rules.update_rule.make_state(parameters.size)
        for name, slot in slots.items():
            saved = np.asarray(state[f"slots/{name}"])
            if saved.shape != slot.shape:
                raise ValueError(
                    f"The saved slots/{name} has shape {saved.shape}: it must have "
                    f"{slot.shape}, as the saved parameters."
                )
            slot[...] = saved
        target, target_version = None, core.Version(epoch, 0)
        if rules.keeps_target:
            target = np.array(state["target_parameters"], np.float32)
            target_version = core.Version(
                int(state["target_epoch"]), int(state["target_updates"])
            )
    except KeyError as error:
        raise ValueError(
            f"The saved state has no {error}: restore it under the update rule and "
            f"target copy it was saved with, not under {rules.update_rule}."
        ) from error
    return SavedState(epoch, counts, parameters, slots, target, target_version)
