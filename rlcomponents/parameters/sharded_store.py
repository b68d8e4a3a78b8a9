"""What a store made of shards does for its callers, wherever the shards are."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import gradients, saved_states
from rlcomponents.parameters import layout as layouts


class ShardedStore(core.ParameterStore):
    """Checks and cuts vectors, and puts the shards' answers together. Thread-safe.

    A subclass says how a shard is reached. Each shard judges alone; see
    `rlcomponents.parameters.shard.ParameterShard`.

    Attributes:
        layout: Of the network whose parameters these are.
    """

    def __init__(
        self,
        layout: layouts.ParameterLayout,
        num_shards: int,
        *,
        max_gradient_norm: float | None = None,
    ) -> None:
        """Cuts the layout.

        Args:
            layout: Of the network whose parameters these are.
            num_shards: Into how many parts to cut the vector.
            max_gradient_norm: Longer gradients are scaled to this Euclidean norm, as
                a whole. None: never.

        Raises:
            ValueError: More shards than parameters, or a norm that is not positive.
        """
        gradients.check_max_norm(max_gradient_norm)
        self.layout = layout
        self._slices = layout.shard_slices(num_shards)
        self._max_gradient_norm = max_gradient_norm

    def initialise(self, vector: np.ndarray) -> bool:
        """See `core.ParameterStore`."""
        gradients.check(vector, self.layout, "vector of initial parameters")
        taken: list[bool] = self._call(
            "initialise", [(part,) for part in self._cut(vector)]
        )
        return any(taken)

    def pull(self, *, target: bool = False) -> core.Snapshot:
        """See `core.ParameterStore`."""
        replies = self._call("pull", [(target,)] * len(self._slices))
        vector = np.empty(self.layout.num_parameters, np.float32)
        for place, (part, *_) in zip(self._slices, replies, strict=True):
            values = np.frombuffer(part, np.float32)
            if values.shape != vector[place].shape:
                raise ValueError(
                    f"A shard holds {values.size} parameters where this client expects "
                    f"{vector[place].size}: all clients of a store must use the same "
                    "network and number of shards."
                )
            vector[place] = values
        return core.Snapshot(
            vector,
            versions=tuple(core.Version(*reply[1:3]) for reply in replies),
            steps=replies[0][3],
            target_versions=tuple(core.Version(*reply[4:6]) for reply in replies),
        )

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`. Clips by the norm of the whole gradient."""
        gradient = self._checked_and_clipped(gradient, versions)
        replies = self._call(
            "push",
            [
                (part, int(version.epoch), int(version.updates), int(steps))
                for part, version in zip(self._cut(gradient), versions, strict=True)
            ],
        )
        verdicts, staleness_updates = zip(*replies, strict=True)
        return core.PushResult(
            tuple(core.Verdict(verdict) for verdict in verdicts), staleness_updates
        )

    def add_steps(self, steps: int) -> int:
        """See `core.ParameterStore`. All shards count, for their schedules."""
        counts: list[int] = self._call("add_steps", [(int(steps),)] * len(self._slices))
        return counts[0]

    def statistics(self) -> core.StoreStatistics:
        """See `core.ParameterStore`. Asks shard 0 alone."""
        (fields,) = self._call("statistics", [()])
        return saved_states.ShardStatistics(*fields).as_store()

    def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
        """Returns copies of the named sets of variables; see `acme.core`.

        Args:
            names: `core.PARAMETERS` and `core.TARGET_PARAMETERS`, in any order.

        Returns:
            For each name: one float32 array per variable, in the layout's order and
            shaped like it.

        Raises:
            ValueError: Another name.
            NotInitialisedError: No parameters have been offered yet.
        """
        known = (core.PARAMETERS, core.TARGET_PARAMETERS)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"No variables called {unknown}: there are {list(known)}.")
        # A pull each, also for a name given twice: TensorFlow may keep the memory.
        return [
            self.layout.split(self.pull(target=name == core.TARGET_PARAMETERS).vector)
            for name in names
        ]

    @abc.abstractmethod
    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Calls a method of `ParameterShard` on the first `len(arguments)` shards.

        Args:
            method: Its name.
            arguments: Those of each call: int, bool, or a memoryview of bytes.

        Returns:
            The results, in the order of the shards.

        Raises:
            NotInitialisedError: A shard holds no parameters yet.
            ValueError: A shard refused its arguments.
        """

    def _checked_and_clipped(
        self, gradient: np.ndarray, versions: Sequence[core.Version]
    ) -> np.ndarray:
        """Returns the gradient as it is to be cut, or raises; see `push`."""
        if len(versions) != len(self._slices):
            raise ValueError(
                f"{len(versions)} versions for {len(self._slices)} shards: pass those "
                "of the snapshot that the gradient was computed from."
            )
        return gradients.check_and_clip(gradient, self.layout, self._max_gradient_norm)

    def _cut(self, vector: np.ndarray) -> list[memoryview]:
        """Returns each shard's part as a view of bytes: nothing is copied."""
        return [vector[part].data.cast("B") for part in self._slices]
