"""The interfaces between components, and the data that crosses them.

An agent is four roles over one protocol: actors make experience, replay (or a
rollout) turns it into batches, learners turn batches into gradients, and a
`ParameterStore` turns gradients into the next parameters. Actors, learners and
workers are Acme's (`acme.core.Actor`, `Learner`, `Worker`, `Saveable`) as they are;
the store is ours, and it is also an `acme.core.VariableSource`, so that whatever
Acme feeds from a learner can be fed from a store.

No TensorFlow here: parameter shards, the coordinator and the launcher live without.
"""

import abc
import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import dm_env
import numpy as np
from acme import core as acme_core

EnvironmentFactory = Callable[[int], dm_env.Environment]
"""Takes a seed, returns a new environment. Called inside the node that uses it."""

WaitForStop = Callable[[float], bool]
"""Waits so many seconds; returns whether the program is asked to stop."""

PARAMETERS = "parameters"
"""`get_variables` name of the parameters that learners update."""

TARGET_PARAMETERS = "target_parameters"
"""`get_variables` name of the target copy."""


class Version(NamedTuple):
    """How far one shard had come.

    Attributes:
        epoch: Number of times the shard was started again from a saved state.
        updates: Gradients the shard had applied.
    """

    epoch: int
    updates: int


class Snapshot(NamedTuple):
    """A copy of the parameters that later pushes cannot change.

    Attributes:
        vector: `[num_parameters]` float32, in `ParameterLayout` order. Owned by the
            caller.
        versions: One per shard, in the order of the vector. For the target copy: the
            versions at which the copy was taken.
        steps: Agent steps counted by shard 0, all actors together.
        target_versions: One per shard: that of its target copy now. Whoever holds a
            copy of other versions should pull the target.
    """

    vector: np.ndarray
    versions: tuple[Version, ...]
    steps: int
    target_versions: tuple[Version, ...] = ()

    @property
    def updates(self) -> int:
        """Global updates: the count of shard 0."""
        return self.versions[0].updates


class Verdict(enum.Enum):
    """What a shard did with its part of a gradient.

    `LOST`: it did not answer. It may have applied its part, or may never do so; nobody
    sends it again.

    Attributes:
        APPLIED: The part was added to the parameters.
        STALE: Discarded: too old.
        OTHER_EPOCH: Discarded: of a life of the shard before this one.
        LOST: No answer came.
    """

    APPLIED = "applied"
    STALE = "stale"
    OTHER_EPOCH = "other_epoch"
    LOST = "lost"


class PushResult(NamedTuple):
    """What each shard did with its part of one gradient.

    Attributes:
        verdicts: One per shard; only shards that answered `APPLIED` have changed, and
            perhaps those that are `LOST`.
        staleness_updates: Per shard, its updates at arrival minus those of the
            snapshot that the gradient was computed from. 0 for another epoch, and where
            there was no answer.
    """

    verdicts: tuple[Verdict, ...]
    staleness_updates: tuple[int, ...]

    @property
    def applied(self) -> bool:
        """Whether every shard applied its part."""
        return all(verdict is Verdict.APPLIED for verdict in self.verdicts)

    @property
    def discarded(self) -> bool:
        """Whether some shard discarded its part."""
        return Verdict.STALE in self.verdicts or Verdict.OTHER_EPOCH in self.verdicts

    @property
    def lost(self) -> bool:
        """Whether some shard did not answer."""
        return Verdict.LOST in self.verdicts


class NotInitialisedError(RuntimeError):
    """The store holds no parameters yet: nobody has called `initialise`."""


class StoreUnavailableError(RuntimeError):
    """The program is to stop, and a shard that is waited for has not answered.

    Until then a store waits: shards that die are started again.
    """


class StoreStatistics(NamedTuple):
    """Counts of one store, as of shard 0 where shards differ.

    Attributes:
        steps: Agent steps of all actors together.
        updates: Gradients applied.
        discarded_stale: Gradients discarded for their age or another epoch.
        mean_staleness_updates: Mean staleness of the gradients that were applied.
    """

    steps: int
    updates: int
    discarded_stale: int
    mean_staleness_updates: float


class ParameterStore(acme_core.VariableSource):
    """Holds the authoritative parameters; every worker holds a stale copy.

    Calls may arrive concurrently. Vectors are float32 `[num_parameters]`, in
    `ParameterLayout` order. docs/decisions/0001 gives the contract and its reasons;
    `rlcomponents.testing.store_contract` is the test that each store inherits.
    """

    @abc.abstractmethod
    def initialise(self, vector: np.ndarray) -> bool:
        """Offers initial parameters; the first offer is taken, later ones ignored.

        Workers build the same network from the run's seed, so whoever is first
        offers what the others would. No node has to be started before another.

        Args:
            vector: `[num_parameters]` float32, finite.

        Returns:
            Whether any shard took its part.
        """

    @abc.abstractmethod
    def pull(self, *, target: bool = False) -> Snapshot:
        """Returns a copy of the parameters, or of the target copy.

        A pull never shows half an update of one shard. Between shards it may: they
        update independently, and `Snapshot.versions` says how far each was.

        Raises:
            NotInitialisedError: No parameters have been offered yet.
        """

    @abc.abstractmethod
    def push(
        self, gradient: np.ndarray, versions: Sequence[Version], steps: int
    ) -> PushResult:
        """Offers one gradient; each shard accepts or discards its part alone.

        Never sent twice: where a shard does not answer, its part of the gradient has
        the verdict `LOST`, and the next pull waits for the shard.

        Args:
            gradient: `[num_parameters]` float32, finite, d(loss)/d(parameter).
                Not kept after the call.
            versions: `Snapshot.versions` the gradient was computed from.
            steps: Agent steps taken since this worker's last `push` or `add_steps`.
                They count whatever the verdict: the steps were taken.

        Raises:
            ValueError: Wrong length, dtype or number of versions, or not finite.
            NotInitialisedError: No parameters have been offered yet.
        """

    @abc.abstractmethod
    def add_steps(self, steps: int) -> int:
        """Counts agent steps that no gradient carries (actors apart from learners).

        Never sent twice either: a shard that dies may lose them.

        Returns:
            The global count of agent steps.
        """

    @abc.abstractmethod
    def statistics(self) -> StoreStatistics:
        """Returns the counts so far; works before `initialise`."""


class Reporter(Protocol):
    """Takes rows of numbers; `runs.metrics.MetricsWriter` is one."""

    def write(self, row: dict[str, float | int | str | None]) -> bool:
        """Records a row; returns whether it could, as not where the disk is full."""

    def close(self) -> None:
        """Ends the record."""
