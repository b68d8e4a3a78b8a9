"""The store contract notices stores that break it."""

import numpy as np
import pytest

from rlcomponents import core
from rlcomponents.parameters import local_store
from rlcomponents.testing import store_contract


class _Patient(local_store.LocalStore):
    """Applies gradients that are one update too old."""

    def __init__(self, *args, max_staleness_updates, **kwargs):
        if max_staleness_updates is not None:
            max_staleness_updates += 1
        super().__init__(*args, max_staleness_updates=max_staleness_updates, **kwargs)


class _Forgetful(local_store.LocalStore):
    """Counts no steps of gradients that it discards."""

    def push(self, gradient, versions, steps):
        result = super().push(gradient, versions, 0)
        if result.applied:
            self.add_steps(steps)
        return result


class _Repeating(local_store.LocalStore):
    """Applies every gradient twice, as one that retries would."""

    def push(self, gradient, versions, steps):
        super().push(gradient, versions, 0)
        return super().push(gradient, versions, steps)


class _Sharing(local_store.LocalStore):
    """Fills the same array at every pull."""

    def pull(self, *, target=False):
        snapshot = super().pull(target=target)
        if not hasattr(self, "_array"):
            self._array = np.empty_like(snapshot.vector)
        self._array[:] = snapshot.vector
        return snapshot._replace(vector=self._array)


class _Fresh(local_store.LocalStore):
    """Has no target copy but the parameters themselves."""

    def pull(self, *, target=False):
        return super().pull()


class _Torn(local_store.LocalStore):
    """Gives half of the parameters as they were at the pull before."""

    def pull(self, *, target=False):
        snapshot = super().pull(target=target)
        if not target:
            now = snapshot.vector.copy()
            before = getattr(self, "_before", now)
            snapshot.vector[::2] = before[::2]
            self._before = now
        return snapshot


class _Late(local_store.LocalStore):
    """Takes the target copy only where the steps hit a multiple of the period."""

    def push(self, gradient, versions, steps):
        target = self.save()
        result = super().push(gradient, versions, steps)
        state = self.save()
        if state["steps"] % 10:
            for name in ("target_parameters", "target_updates"):
                state[name] = target[name]
            self.restore(state)
        return result


class _Empty(local_store.LocalStore):
    """Holds zeros before anybody offered parameters."""

    def pull(self, *, target=False):
        try:
            return super().pull(target=target)
        except core.NotInitialisedError:
            zeros = np.zeros(self.layout.num_parameters, np.float32)
            return core.Snapshot(zeros, (core.Version(0, 0),), 0)


@pytest.mark.parametrize(
    ("make_faulty", "noticing", "settings"),
    [
        (_Patient, "a_gradient_is_discarded_when_older_than_the_limit", {"limit": 2}),
        (_Forgetful, "steps_of_a_discarded_gradient_count", {}),
        (_Repeating, "a_push_changes_parameters_versions_and_steps", {}),
        (_Torn, "a_pull_never_shows_half_an_update", {}),
        (_Repeating, "no_push_of_many_made_at_once_is_lost", {}),
        (_Sharing, "a_snapshot_and_the_store_share_no_memory", {}),
        (_Fresh, "target_period_need_not_divide_the_training_period", {}),
        (_Late, "a_target_period_in_steps_is_crossed_by_jumps", {}),
        (_Empty, "calls_before_initialise", {}),
    ],
)
def test_the_contract_notices_a_planted_fault(make_faulty, noticing, settings):
    def make_store(made):
        return make_faulty(
            made.layout,
            made.rule,
            made.learning_rate,
            max_staleness_updates=made.max_staleness_updates,
            target_period_updates=made.target_period_updates,
            target_period_steps=made.target_period_steps,
            max_gradient_norm=made.max_gradient_norm,
        )

    test = getattr(store_contract.StoreContract(), f"test_{noticing}")
    test(store_contract.StoreSettings.make_local_store, **settings)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(make_store, **settings)
