"""One slice of the parameters with its optimiser: what a parameter-server node serves.

Everything that a store decides is decided here, for one slice: what is stale, what
the learning rate is, when the target copy is taken. No TensorFlow, and no knowledge of
the network: a vector of some length is all there is.
"""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from acme import core as acme_core

from rlcomponents import core
from rlcomponents.parameters import update_rules

Buffer = bytes | memoryview

Reply = tuple[int, Any]
"""What a shard's method answers: a code and a result. `read_reply` takes it apart."""

_OK, _NOT_INITIALISED, _BAD_CALL = range(3)

_P = ParamSpec("_P")
_R = TypeVar("_R")


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


def read_reply(reply: Reply) -> Any:
    """Returns the result that a shard's method answered, or raises its error.

    Raises:
        NotInitialisedError: The shard holds no parameters yet.
        ValueError: The shard refused the arguments.
    """
    code, result = reply
    if code == _NOT_INITIALISED:
        raise core.NotInitialisedError(result)
    if code == _BAD_CALL:
        raise ValueError(result)
    return result


def _answers(
    method: Callable[Concatenate["ParameterShard", _P], _R],
) -> Callable[Concatenate["ParameterShard", _P], Reply]:
    """Makes a method answer `Reply`: courier would lose an exception's class."""

    @functools.wraps(method)
    def answer(self: "ParameterShard", *args: _P.args, **kwargs: _P.kwargs) -> Reply:
        try:
            return _OK, method(self, *args, **kwargs)
        except core.NotInitialisedError as error:
            return _NOT_INITIALISED, str(error)
        except ValueError as error:
            return _BAD_CALL, str(error)

    return answer


class ParameterShard(acme_core.Saveable):
    """Owns one contiguous slice of the parameters and its optimiser. Thread-safe.

    Served over courier, whose calls never return when given an array: vectors come as
    `bytes` (any buffer of bytes, within one process), and go as `bytes`, which is
    faster too. `initialise`, `pull`, `push`, `add_steps` and `statistics` answer
    `Reply`; `rlcomponents.core.ParameterStore` says what they mean. `save` and
    `restore` are for the shard's own process: a saved state holds arrays, so `restore`
    cannot be called over courier.

    No method waits for anything but the lock, which is held for one pass over the
    slice at most.
    """

    def __init__(
        self,
        rule: update_rules.UpdateRule,
        learning_rate: Callable[[int], float],
        *,
        max_staleness_updates: int | None,
        target_period_updates: int | None,
        epoch: int = 0,
    ) -> None:
        """Starts empty: the first vector offered by `initialise` is taken.

        Args:
            rule: How gradients change parameters. Compiled here, not in a first push.
            learning_rate: Schedule over agent steps, all actors together.
            max_staleness_updates: Oldest gradient that is applied. None: any age.
            target_period_updates: Updates of this shard from one target copy to the
                next. The first copy is the initial parameters. None: no target copy.
            epoch: How often this shard was started before within its program.

        Raises:
            ValueError: A setting out of its range.
        """
        if not callable(learning_rate):
            raise ValueError(
                f"learning_rate is {learning_rate!r}: give a schedule over agent "
                "steps, such as schedules.Constant(0.001)."
            )
        if max_staleness_updates is not None and max_staleness_updates < 0:
            raise ValueError(
                f"max_staleness_updates is {max_staleness_updates}: give 0 or more, or "
                "None to apply gradients of any age."
            )
        if target_period_updates is not None and target_period_updates < 1:
            raise ValueError(
                f"target_period_updates is {target_period_updates}: give 1 or more, or "
                "None for no target copy."
            )
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}: give 0 or more.")
        self._rule = rule
        self._learning_rate = learning_rate
        self._max_staleness_updates = max_staleness_updates
        self._target_period_updates = target_period_updates
        self._lock = threading.Lock()
        self._vector: np.ndarray | None = None  # [size] float32
        self._state: update_rules.State = {}
        # Bytes cannot change, so pulls between two updates share one copy.
        self._published: bytes | None = None
        self._target = b""
        self._target_version = core.Version(epoch, 0)
        self._epoch = epoch
        self._updates = 0
        self._steps = 0
        self._discarded_stale = 0
        self._discarded_other_epoch = 0
        self._staleness_sum_updates = 0
        rule.apply(
            np.zeros(1, np.float32), np.zeros(1, np.float32), rule.make_state(1), 0.0
        )

    @_answers
    def initialise(self, vector: Buffer) -> bool:
        """Takes `[size]` float32 as parameters, unless there are some already."""
        values = _as_float32(vector)
        if not values.size:
            raise ValueError("The initial parameters of a shard are empty.")
        with self._lock:
            if self._vector is not None:
                self._check_size(values)
                return False
            self._vector = values.copy()
            self._state = self._rule.make_state(values.size)
            if self._target_period_updates is not None:
                self._copy_target()
            return True

    @_answers
    def pull(self, target: bool = False) -> tuple[bytes, int, int, int]:
        """Returns the parameters, or the target copy, as of one moment.

        Returns:
            `[size]` float32, then the epoch and updates of its version, then the
            agent steps counted until now.
        """
        with self._lock:
            self._check_initialised()
            if not target:
                return self._publish(), self._epoch, self._updates, self._steps
            if self._target_period_updates is None:
                raise ValueError(
                    "This store keeps no target copy: set target_period_updates."
                )
            return self._target, *self._target_version, self._steps

    @_answers
    def push(
        self, gradient: Buffer, epoch: int, updates: int, steps: int
    ) -> tuple[str, int]:
        """Counts the steps, then applies the gradient or discards it.

        Args:
            gradient: `[size]` float32.
            epoch: Of the version the gradient was computed from.
            updates: Of the same version.
            steps: Agent steps taken for it. They count whatever the verdict, and for
                the next learning rate, not for this gradient's.

        Returns:
            The value of a `core.Verdict`, and the staleness in updates.
        """
        values = _as_float32(gradient)
        with self._lock:
            vector = self._check_initialised()
            self._check_size(values)
            staleness = self._updates - updates
            if epoch == self._epoch and staleness < 0:
                raise ValueError(
                    f"The gradient claims update {updates} of a shard at update "
                    f"{self._updates}: pass the versions of the snapshot it was "
                    "computed from, one per shard, in order."
                )
            rate = self._learning_rate(self._steps)
            self._steps += _checked_steps(steps)
            if epoch != self._epoch:
                self._discarded_other_epoch += 1
                return core.Verdict.OTHER_EPOCH.value, 0
            if (
                self._max_staleness_updates is not None
                and staleness > self._max_staleness_updates
            ):
                self._discarded_stale += 1
                return core.Verdict.STALE.value, staleness
            self._published = None
            self._rule.apply(vector, values, self._state, rate)
            self._updates += 1
            self._staleness_sum_updates += staleness
            if (
                self._target_period_updates is not None
                and self._updates % self._target_period_updates == 0
            ):
                self._copy_target()
            return core.Verdict.APPLIED.value, staleness

    @_answers
    def add_steps(self, steps: int) -> int:
        """Counts agent steps; returns the count."""
        with self._lock:
            self._steps += _checked_steps(steps)
            return self._steps

    @_answers
    def statistics(self) -> tuple[int, ...]:
        """Returns the fields of `ShardStatistics`, so far."""
        with self._lock:
            return tuple(self._counts())

    def save(self) -> dict[str, np.ndarray | int]:
        """Returns everything that `restore` needs, as of one moment.

        Returns:
            Counts as int. Where the shard is initialised, also copies of
            `parameters`, `target_parameters` (if kept) and `slots/<name>`, float32.
        """
        with self._lock:
            state: dict[str, np.ndarray | int] = {
                "epoch": self._epoch,
                **self._counts()._asdict(),
            }
            if self._vector is not None:
                state["parameters"] = self._vector.copy()
                for name, slot in self._state.items():
                    state[f"slots/{name}"] = slot.copy()
                if self._target_period_updates is not None:
                    state["target_parameters"] = _as_float32(self._target).copy()
                    state["target_epoch"] = self._target_version.epoch
                    state["target_updates"] = self._target_version.updates
            return state

    def restore(self, state: Mapping[str, np.ndarray | int]) -> None:
        """Goes on from a saved state, in an epoch of its own.

        Gradients computed before are then discarded: the updates they count from may
        be ones that the saved state does not have. The new epoch is the saved one, plus
        the present one, plus one: `epoch` of the constructor makes it differ even where
        two starts within one program restore the same state.

        Args:
            state: From `save`. Not kept.

        Raises:
            ValueError: Saved under another rule, or without the target copy that
                this shard keeps. Nothing has changed then.
        """
        try:
            epoch = int(state["epoch"])
            counts = ShardStatistics(*(int(state[n]) for n in ShardStatistics._fields))
            vector, slots = self._saved_parameters(state)
            target, target_version = self._saved_target(state)
        except KeyError as error:
            raise ValueError(
                f"The saved state has no {error}: restore it under the update rule "
                f"and target copy it was saved with, not under {self._rule}."
            ) from error
        with self._lock:
            self._vector, self._state, self._published = vector, slots, None
            self._target, self._target_version = target, target_version
            self._epoch += epoch + 1
            self._steps = counts.steps
            self._updates = counts.updates
            self._discarded_stale = counts.discarded_stale
            self._discarded_other_epoch = counts.discarded_other_epoch
            self._staleness_sum_updates = counts.staleness_sum_updates

    def _saved_parameters(
        self, state: Mapping[str, np.ndarray | int]
    ) -> tuple[np.ndarray | None, update_rules.State]:
        if "parameters" not in state:
            return None, {}
        vector = np.array(state["parameters"], np.float32)
        slots = self._rule.make_state(vector.size)
        for name, slot in slots.items():
            saved = np.asarray(state[f"slots/{name}"])
            if saved.shape != slot.shape:
                raise ValueError(
                    f"The saved slots/{name} has shape {saved.shape}: it must have "
                    f"{slot.shape}, as the saved parameters."
                )
            slot[...] = saved
        return vector, slots

    def _saved_target(
        self, state: Mapping[str, np.ndarray | int]
    ) -> tuple[bytes, core.Version]:
        if self._target_period_updates is None or "parameters" not in state:
            return b"", self._target_version
        return (
            np.asarray(state["target_parameters"], np.float32).tobytes(),
            core.Version(int(state["target_epoch"]), int(state["target_updates"])),
        )

    def _counts(self) -> ShardStatistics:
        """Returns the counts. Needs the lock."""
        return ShardStatistics(
            self._steps,
            self._updates,
            self._discarded_stale,
            self._discarded_other_epoch,
            self._staleness_sum_updates,
        )

    def _check_initialised(self) -> np.ndarray:
        if self._vector is None:
            raise core.NotInitialisedError(
                "The store holds no parameters yet: call initialise first."
            )
        return self._vector

    def _check_size(self, values: np.ndarray) -> None:
        vector = self._check_initialised()
        if values.size != vector.size:
            raise ValueError(
                f"Got {values.size} values for a shard of {vector.size}: all clients "
                "of a store must use the same network and number of shards."
            )

    def _publish(self) -> bytes:
        """Returns the parameters as bytes, copied once an update. Needs the lock."""
        if self._published is None:
            self._published = self._check_initialised().tobytes()
        return self._published

    def _copy_target(self) -> None:
        """Takes the target copy. Needs the lock."""
        self._target = self._publish()
        self._target_version = core.Version(self._epoch, self._updates)


def _as_float32(vector: Buffer) -> np.ndarray:
    """Returns a read-only view of the values."""
    if len(vector) % 4:
        raise ValueError(f"{len(vector)} bytes are no whole number of float32 values.")
    return np.frombuffer(vector, np.float32)


def _checked_steps(steps: int) -> int:
    if steps < 0:
        raise ValueError(f"{steps} agent steps: give 0 or more.")
    return steps
