"""What a shard, or a store in memory, saves of itself, and how that is read."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import layout as layouts
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
        parameters = _copy(state, "parameters")
        slots = read_slots(state, rules.update_rule, parameters.size)
        target, target_version = None, core.Version(epoch, 0)
        if rules.keeps_target:
            target = _copy(state, "target_parameters")
            if target.shape != parameters.shape:
                raise ValueError(
                    f"The saved target_parameters are {target.size} for "
                    f"{parameters.size} parameters: the state is of no one shard."
                )
            target_version = core.Version(
                int(state["target_epoch"]), int(state["target_updates"])
            )
    except KeyError as error:
        raise ValueError(
            f"The saved state has no {error}: restore it under the update rule and "
            f"target copy it was saved with, not under {rules.update_rule}."
        ) from error
    return SavedState(epoch, counts, parameters, slots, target, target_version)


def save_slots(slots: update_rules.State) -> dict[str, np.ndarray]:
    """Returns copies of an update rule's statistics, as a saved state names them."""
    return {f"slots/{name}": slot.copy() for name, slot in slots.items()}


def read_slots(
    state: Mapping[str, np.ndarray | int], rule: update_rules.UpdateRule, size: int
) -> update_rules.State:
    """Returns copies of the statistics in a saved state.

    Args:
        state: With what `save_slots` returned.
        rule: That is to go on from it.
        size: Number of parameters.

    Raises:
        ValueError: Saved under another rule, or of another number of parameters.
    """
    slots = rule.make_state(size)
    for slot_name, slot in slots.items():
        name = f"slots/{slot_name}"
        if name not in state:
            raise ValueError(
                f"The saved state has no {name!r}: restore it under the update rule "
                f"it was saved with, not under {rule}."
            )
        saved = np.asarray(state[name])
        if saved.shape != slot.shape:
            raise ValueError(
                f"The saved {name} has shape {saved.shape}: it must have "
                f"{slot.shape}, as the parameters."
            )
        slot[...] = saved
    return slots


def recut(
    states: Sequence[Mapping[str, np.ndarray | int]], num_shards: int
) -> list[dict[str, np.ndarray | int]]:
    """Cuts saved states anew, for another number of shards.

    Parameters, target copy and statistics of the update rule keep their values. Counts
    and versions are shard 0's, in all that come out: its counts are the store's, and
    versions are compared only within one epoch, which a restored shard leaves. The
    epoch is the latest. Scalar statistics (Adam's count) are shard 0's as well: shards
    differ in them by the gradients that one applied and another did not.

    Args:
        states: From `save` of all shards, in the order of the vector. Not changed; the
            results may share memory with them.
        num_shards: How many to make. As many as there are: they stay as they are.

    Raises:
        ValueError: No states, more shards than parameters, or states of which some
            hold what others do not.
    """
    if not states:
        raise ValueError("There are no saved states to cut: give one per shard.")
    if len(states) == num_shards:
        return [dict(state) for state in states]
    names = set(states[0])
    if any(set(state) != names for state in states):
        raise ValueError(
            "Some of the saved states hold arrays that others do not: they must be of "
            "one store, all shards of which had been initialised."
        )
    first = dict(states[0])
    first["epoch"] = max(int(state["epoch"]) for state in states)
    vectors = {
        name: np.concatenate([np.asarray(state[name]) for state in states])
        for name in names
        if np.ndim(first[name])
    }
    if not vectors:
        return [dict(first) for _ in range(num_shards)]
    layout = layouts.ParameterLayout(["all"], [vectors["parameters"].shape])
    return [
        first | {name: vector[part] for name, vector in vectors.items()}
        for part in layout.shard_slices(num_shards)
    ]


def _copy(state: Mapping[str, np.ndarray | int], name: str) -> np.ndarray:
    vector = np.array(state[name], np.float32)
    if vector.ndim != 1:
        raise ValueError(f"The saved {name} have shape {vector.shape}: not a vector.")
    return vector
