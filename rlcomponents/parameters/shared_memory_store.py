"""A parameter store in memory that processes of one host share, without locks."""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from acme import core as acme_core

from rlcomponents import core
from rlcomponents.parameters import (
    gradients,
    saved_states,
    shard_rules,
    sharded_store,
    shared_memory,
    shared_parameters,
    update_rules,
    wire,
)
from rlcomponents.parameters import layout as layouts


class SharedMemoryStore(sharded_store.ShardedStore, acme_core.Saveable):
    """Hogwild!: workers change the same parameters in place, and nobody waits.

    Each worker has one of these, on memory that it opened for itself; so have threads
    of one process. Thread-safe; one object's pushes take their turn.

    **Weaker than other stores.** Updates of several workers run through the same
    arrays at once: a pull may show half an update, and where two change the same
    parameter in the same instant, one change, or one of a statistic, may be lost. The
    counts are exact, and a version is never newer than the values that come with it.
    The target copy is whole, though it may hold half of an update that was going on.

    A worker that is killed leaves finite values: each float32 is the old or the new
    one, never a mixture, and every rule can go on from any mixture of old and new
    ones. What it had locked is free, and what it had not finished (initial parameters,
    a target copy) is done by the next. It may have applied an update without counting
    it.

    The target copy, which workers seldom pull, is the one thing that is locked: for
    the time of one copy of the vector.

    Reference:
        Niu et al. 2011, Algorithm 1; https://arxiv.org/abs/1106.5730. Mnih et al.
        2016, Algorithms 1, S2 and S3; https://arxiv.org/abs/1602.01783.
    """

    def __init__(
        self,
        layout: layouts.ParameterLayout,
        memory: shared_memory.OpenMemory,
        rule: update_rules.UpdateRule,
        learning_rate: Callable[[int], float],
        *,
        max_staleness_updates: int | None,
        target_period_updates: int | None,
        target_period_steps: int | None = None,
        max_gradient_norm: float | None = None,
    ) -> None:
        """Uses what is in the memory, or what will be: it may be empty.

        Args:
            layout: See `ShardedStore`.
            memory: Opened for this store.
            rule: See `ShardRules` for this and the next four. Its statistics are
                shared too (for RMSProp: "Shared RMSProp").
            learning_rate: Of agent steps, all actors together.
            max_staleness_updates: Or None.
            target_period_updates: Or None.
            target_period_steps: Or None.
            max_gradient_norm: See `ShardedStore`.

        Raises:
            ValueError: A setting out of its range.
        """
        super().__init__(layout, 1, max_gradient_norm=max_gradient_norm)
        self._rules = shard_rules.ShardRules(
            update_rule=rule,
            learning_rate=learning_rate,
            max_staleness_updates=max_staleness_updates,
            target_period_updates=target_period_updates,
            target_period_steps=target_period_steps,
        )
        self._shared = shared_parameters.SharedParameters(memory)
        self._push_lock = threading.Lock()
        self._attached: _Arrays | None = None
        fingerprint = hashlib.sha256(layout.to_json().encode()).hexdigest()[:16]
        # What all workers must have in common. Their schedules should be equal as
        # well; those are functions, which cannot be compared.
        self._facts = {
            "network": f"{layout.num_parameters} parameters, layout {fingerprint}",
            "update rule": str(rule),
            "target period": (
                f"{target_period_updates} updates, {target_period_steps} steps"
            ),
        }

    def pull(self, *, target: bool = False) -> core.Snapshot:
        """See `core.ParameterStore`.

        Also takes the target copy where it is due: the worker whose count made it due
        may not have come to it yet.
        """
        shared, arrays = self._shared, self._arrays()
        if target:
            self._rules.check_keeps_target()
            with shared.target_locked():
                self._copy_target_if_due()
                vector, versions = arrays.target.copy(), (shared.target_version,)
            return core.Snapshot(vector, versions, shared.counts().steps, versions)
        # Counted before the values are copied: they are as new, or newer.
        epoch, counts = shared.epoch, shared.counts()
        self._notice_target(counts)
        return core.Snapshot(
            arrays.parameters.copy(),
            (core.Version(epoch, counts.updates),),
            counts.steps,
            (shared.target_version,),
        )

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`. Waits for this object's push before it."""
        gradient = self._checked_and_clipped(gradient, versions)
        rules, shared = self._rules, self._shared
        with self._push_lock:
            arrays, counts = self._arrays(), shared.counts()
            verdict, staleness = rules.judge(
                versions[0], core.Version(shared.epoch, counts.updates)
            )
            row = shared.own_row()
            row[shared_parameters.STEPS] += shard_rules.checked_steps(steps)
            if verdict is core.Verdict.OTHER_EPOCH:
                row[shared_parameters.DISCARDED_OTHER_EPOCH] += 1
            elif verdict is core.Verdict.STALE:
                row[shared_parameters.DISCARDED_STALE] += 1
            else:
                rate = rules.learning_rate(counts.steps)
                rules.update_rule.apply(arrays.parameters, gradient, arrays.slots, rate)
                row[shared_parameters.UPDATES] += 1
                row[shared_parameters.STALENESS_SUM_UPDATES] += staleness
        self._notice_target(shared.counts())
        return core.PushResult((verdict,), (staleness,))

    def save(self) -> dict[str, np.ndarray | int]:
        """See `SharedParameters`, which can do so without the network."""
        return self._shared.save()

    def restore(self, state: Mapping[str, np.ndarray | int]) -> None:
        """Goes on from a saved state, in an epoch of its own, as a shard does.

        For one worker, before the others push: later the parameters would be a mixture.

        Args:
            state: From `save`, or from that of a `LocalStore`. Not kept. Where that
                was not initialised, only its counts are restored.

        Raises:
            ValueError: Saved under another rule, for another number of parameters, or
                without the target copy that this store keeps. Nothing has changed then.
        """
        saved = self._read(state)
        with self._shared.set_up_locked():
            self._restore(saved)

    def restore_if_empty(self, state: Mapping[str, np.ndarray | int]) -> bool:
        """Goes on from a saved state unless there are parameters already.

        For every worker that opens the memory, before it offers parameters: the first
        one restores them, and the others wait for it.

        Args:
            state: See `restore`. One that was not initialised is left alone.

        Returns:
            Whether it does.

        Raises:
            ValueError: See `restore`.
        """
        saved = self._read(state)
        with self._shared.set_up_locked():
            if self._shared.is_ready or saved.parameters is None:
                return False
            self._restore(saved)
            return True

    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [getattr(self, f"_{method}")(*each) for each in arguments]

    def _initialise(self, vector: wire.Buffer) -> bool:
        values = wire.as_float32(vector)
        shared = self._shared
        with shared.set_up_locked():
            if shared.is_ready:
                self._arrays()
                return False
            self._write(
                values,
                self._rules.update_rule.make_state(values.size),
                values if self._rules.keeps_target else None,
                core.Version(shared.epoch, shared.counts().updates),
            )
            return True

    def _add_steps(self, steps: int) -> int:
        with self._push_lock:
            row = self._shared.own_row()
            row[shared_parameters.STEPS] += shard_rules.checked_steps(steps)
        counts = self._shared.counts()
        self._notice_target(counts)
        return counts.steps

    def _statistics(self) -> tuple[int, ...]:
        return tuple(self._shared.counts())

    def _notice_target(self, counts: saved_states.ShardStatistics) -> None:
        """Takes the target copy where it is due: one of those who notice does."""
        shared = self._shared
        if not self._rules.keeps_target or not shared.is_ready:
            return
        if self._target_phase(counts) > shared.target_phase:
            with shared.target_locked():
                self._copy_target_if_due()

    def _copy_target_if_due(self) -> None:
        """Takes the target copy unless another has. Needs the target's lock."""
        counts = self._shared.counts()
        phase = self._target_phase(counts)
        if phase > self._shared.target_phase:
            version = core.Version(self._shared.epoch, counts.updates)
            self._shared.copy_target(version, phase)

    def _target_phase(self, counts: saved_states.ShardStatistics) -> int:
        return self._rules.target_phase(steps=counts.steps, updates=counts.updates)

    def _read(self, state: Mapping[str, np.ndarray | int]) -> saved_states.SavedState:
        saved = saved_states.read(state, self._rules)
        if saved.parameters is not None:
            gradients.check(saved.parameters, self.layout, "saved state")
        return saved

    def _restore(self, saved: saved_states.SavedState) -> None:
        """Goes on from a saved state. Needs `set_up_locked`."""
        if self._shared.is_ready:
            self._arrays()
        self._shared.epoch += saved.epoch + 1
        self._shared.restore_counts(saved.counts)
        if saved.parameters is not None:
            self._write(
                saved.parameters, saved.slots, saved.target, saved.target_version
            )

    def _write(
        self,
        parameters: np.ndarray,
        slots: update_rules.State,
        target: np.ndarray | None,
        target_version: core.Version,
    ) -> None:
        """Makes or overwrites all arrays. Needs `set_up_locked`."""
        arrays = {shared_parameters.PARAMETERS: parameters}
        arrays |= {shared_parameters.SLOTS + name: slots[name] for name in slots}
        if target is not None:
            arrays[shared_parameters.TARGET_PARAMETERS] = target
        self._shared.write_arrays(
            self._facts,
            arrays,
            target_version=target_version,
            target_phase=self._target_phase(self._shared.counts()),
        )

    def _arrays(self) -> "_Arrays":
        """Returns the arrays in the memory.

        Raises:
            NotInitialisedError: There are none yet.
            ValueError: They are another network's, or were made with other settings.
        """
        if self._attached is None:
            arrays = self._shared.arrays(self._facts)
            prefix = shared_parameters.SLOTS
            slots = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            self._attached = _Arrays(
                arrays[shared_parameters.PARAMETERS],
                slots,
                arrays.get(
                    shared_parameters.TARGET_PARAMETERS, np.empty(0, np.float32)
                ),
            )
        return self._attached


class _Arrays(NamedTuple):
    """Views of the shared memory. `target` is empty where no copy is kept."""

    parameters: np.ndarray
    slots: update_rules.State
    target: np.ndarray
