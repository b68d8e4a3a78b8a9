"""One slice of the parameters with its optimiser: what a parameter-server node serves.

Everything that a store decides is decided here, for one slice: what is stale, what
the learning rate is, when the target copy is taken (by `shard_rules`). No TensorFlow,
and no knowledge of the network: a vector of some length is all there is.
"""

import threading
from collections.abc import Callable, Mapping

import numpy as np
from acme import core as acme_core

from rlcomponents import core
from rlcomponents.parameters import saved_states, shard_rules, update_rules, wire


class ParameterShard(acme_core.Saveable):
    """Owns one contiguous slice of the parameters and its optimiser. Thread-safe.

    Served over courier, whose calls never return when given an array: vectors come as
    `bytes` (any buffer of bytes, within one process), and go as `bytes`, which is
    faster too. `initialise`, `pull`, `push`, `add_steps` and `statistics` answer
    `wire.Reply`; `rlcomponents.core.ParameterStore` says what they mean. `save` and
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

    @property
    def is_initialised(self) -> bool:
        """Whether there are parameters."""
        return self._vector is not None

    @wire.answers
    def initialise(self, vector: wire.Buffer) -> bool:
        """Takes `[size]` float32 as parameters, unless there are some already."""
        values = wire.as_float32(vector)
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

    @wire.answers
    def pull(self, target: bool = False) -> tuple[bytes, int, int, int, int, int]:
        """Returns the parameters, or the target copy, as of one moment.

        Returns:
            `[size]` float32, then the epoch and updates of its version, then the
            agent steps counted until now, then the epoch and updates of the target
            copy's version.
        """
        with self._lock:
            self._check_initialised()
            clocks = self._steps, *self._target_version
            if not target:
                return self._publish(), self._epoch, self._updates, *clocks
            self._rules.check_keeps_target()
            return self._target, *self._target_version, *clocks

    @wire.answers
    def push(
        self, gradient: wire.Buffer, epoch: int, updates: int, steps: int
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
        values = wire.as_float32(gradient)
        with self._lock:
            vector = self._check_initialised()
            self._check_size(values)
            verdict, staleness = self._rules.judge(
                core.Version(epoch, updates), core.Version(self._epoch, self._updates)
            )
            rate = self._rules.learning_rate(self._steps)
            self._steps += shard_rules.checked_steps(steps)
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

    @wire.answers
    def add_steps(self, steps: int) -> int:
        """Counts agent steps; returns the count."""
        with self._lock:
            self._steps += shard_rules.checked_steps(steps)
            self._copy_target_if_due()
            return self._steps

    @wire.answers
    def statistics(self) -> tuple[int, ...]:
        """Returns the fields of `saved_states.ShardStatistics`, so far."""
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
                state |= saved_states.save_slots(self._state)
                if self._rules.keeps_target:
                    state["target_parameters"] = wire.as_float32(self._target).copy()
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
        saved = saved_states.read(state, self._rules)
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

    def _counts(self) -> saved_states.ShardStatistics:
        """Returns the counts. Needs the lock."""
        return saved_states.ShardStatistics(
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
