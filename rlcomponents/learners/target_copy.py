"""A worker's target network, which follows the store's target copy."""

from rlcomponents import core
from rlcomponents.parameters import tf_variables


class TargetCopy:
    """Fills variables from the store's target copy whenever that is a new one.

    Each shard takes its copy by its own clock, so that those of a store are not new at
    the same moment. A pull says which copy each shard has; nothing else tells.
    """

    def __init__(
        self, store: core.ParameterStore, variables: tf_variables.FlatVariables
    ) -> None:
        """Stores its parts; pulls nothing yet.

        Args:
            store: Keeps the target copy.
            variables: Of the target network.
        """
        self._store = store
        self._variables = variables
        self._held: _Clock | None = None

    def follow(self, snapshot: core.Snapshot) -> None:
        """Pulls the target copy where `snapshot`, a pull just made, says it is new."""
        epochs = tuple(version.epoch for version in snapshot.versions)
        if (epochs, snapshot.target_versions) != self._held:
            target = self._store.pull(target=True)
            self._variables.assign(target.vector)
            self._held = epochs, target.versions


_Clock = tuple[tuple[int, ...], tuple[core.Version, ...]]
"""Epoch and target version of each shard: a restored one may count anew."""
