"""One slice of the parameters with its optimiser: what a parameter-server node serves.

Everything that a store decides is decided here, for one slice: what is stale, what
the learning rate is, when the target copy is taken (by `shard_rules`). No TensorFlow,
and no knowledge of the network: a vector of some length is all there is.
"""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from acme import core as acme_core

from rlcomponents import core
from rlcomponents.parameters import shard_rules, update_rules

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


def read_saved_state(
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


def as_float32(vector: Buffer) -> np.ndarray:
    """Returns a read-only view of the values."""
    if len(vector) % 4:
        raise ValueError(f"{len(vector)} bytes are no whole number of float32 values.")
    return np.frombuffer(vector, np.float32)


def checked_steps(steps: int) -> int:
    """Returns `steps`, which must not be negative."""
    if steps < 0:
        raise ValueError(f"{steps} agent steps: give 0 or more.")
    return steps


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
        target_period_steps: int | None = None,
        epoch: int = 0,
    ) -> None:
        """Starts empty: the first vector offered by `initialise` is taken.

        Args:
            rule: See `ShardRules` for this and the next four.
            learning_rate: Of agent steps, all actors together.
            max_staleness_updates: Or None.
            target_period_updates: Or None.
            target_period_steps: Or None.
            epoch: How often this shard was started before within its program.

        Raises:
            ValueError: A setting out of its range.
        """
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}: give 0 or more.")
        self._rules = shard_rules.ShardRules(
            update_rule=rule,
            learning_rate=learning_rate,
            max_staleness_updates=max_staleness_updates,
            target_period_updates=target_period_updates,
            target_period_steps=target_period_steps,
        )
        self._lock = threading.Lock()
        self._vector: np.ndarray | None = None  # [size] float32
        self._state: update_rules.State = {}
        # Bytes cannot change, so pulls between two updates share one copy.
        self._published: bytes | None = None
        self._target = b""
        self._target_version = core.Version(epoch, 0)
        self._target_phase = 0
        self._epoch = epoch
        self._updates = 0
        self._steps = 0
        self._discarded_stale = 0
        self._discarded_other_epoch = 0
        self._staleness_sum_updates = 0

    @_answers
    def initialise(self, vector: Buffer) -> bool:
        """Takes `[size]` float32 as parameters, unless there are some already."""
        values = as_float32(vector)
        if not values.size:
            raise ValueError("The initial parameters of a shard are empty.")
        with self._lock:
            if self._vector is not None:
                self._check_size(values)
                return False
            self._vector = values.copy()
            self._state = self._rules.update_rule.make_state(values.size)
            if self._rules.keeps_target:
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
            self._rules.check_keeps_target()
            return self._target, *self._target_version, self._steps

    @_answers
    def push(
        self, gradient: Buffer, epoch: int, updates: int, steps: int
    ) -> tuple[str, int]:
        """Counts the steps, then applies the gradient or discards it.

        A target copy that its steps or its update make due is taken afterwards; one
        that `add_steps` makes due, at once.

        Args:
            gradient: `[size]` float32.
            epoch: Of the version the gradient was computed from.
            updates: Of the same version.
            steps: Agent steps taken for it. They count whatever the verdict, and for
                the next learning rate, not for this gradient's.

        Returns:
            The value of a `core.Verdict`, and the staleness in updates.
        """
        values = as_float32(gradient)
        with self._lock:
            vector = self._check_initialised()
            self._check_size(values)
            verdict, staleness = self._rules.judge(
                core.Version(epoch, updates), core.Version(self._epoch, self._updates)
            )
            rate = self._rules.learning_rate(self._steps)
            self._steps += checked_steps(steps)
            if verdict is core.Verdict.OTHER_EPOCH:
                self._discarded_other_epoch += 1
            elif verdict is core.Verdict.STALE:
                self._discarded_stale += 1
            else:
                self._published = None
                self._rules.update_rule.apply(vector, values, self._state, rate)
                self._updates += 1
                self._staleness_sum_updates += staleness
            self._copy_target_if_due()
            return verdict.value, staleness

    @_answers
    def add_steps(self, steps: int) -> int:
        """Counts agent steps; returns the count."""
        with self._lock:
            self._steps += checked_steps(steps)
            self._copy_target_if_due()
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
                if self._rules.keeps_target:
                    state["target_parameters"] = as_float32(self._target).copy()
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
        saved = read_saved_state(state, self._rules)
        with self._lock:
            self._vector, self._state, self._published = (
                saved.parameters,
                saved.slots,
                None,
            )
            self._target = b"" if saved.target is None else saved.target.tobytes()
            self._target_version = saved.target_version
            self._epoch += saved.epoch + 1
            (
                self._steps,
                self._updates,
                self._discarded_stale,
                self._discarded_other_epoch,
                self._staleness_sum_updates,
            ) = saved.counts
            self._target_phase = self._rules.target_phase(
                steps=self._steps, updates=self._updates
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

    def _copy_target_if_due(self) -> None:
        """Takes the target copy where a period has passed. Needs the lock."""
        phase = self._rules.target_phase(steps=self._steps, updates=self._updates)
        if self._vector is not None and phase > self._target_phase:
            self._copy_target()

    def _copy_target(self) -> None:
        """Takes the target copy. Needs the lock."""
        self._target = self._publish()
        self._target_version = core.Version(self._epoch, self._updates)
        self._target_phase = self._rules.target_phase(
            steps=self._steps, updates=self._updates
        )
