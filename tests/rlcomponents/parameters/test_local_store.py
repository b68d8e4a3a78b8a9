"""The store in this process, and its saved state."""

import numpy as np
import pytest

from rlcomponents import schedules
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.testing import store_contract

SIZE = store_contract.NUM_PARAMETERS


class TestLocalStore(store_contract.StoreContract):
    @pytest.fixture
    def make_store(self):
        return store_contract.StoreSettings.make_local_store


def test_a_local_store_is_exactly_one_shard():
    store = store_contract.StoreSettings().make_local_store()
    store.initialise(store_contract.ONES)
    assert len(store.pull().versions) == 1


def test_resume_is_a_continuation():
    def make():
        return local_store.LocalStore(
            store_contract.LAYOUT,
            update_rules.Adam(),
            schedules.Linear(0.1, 0.0, 100),
            max_staleness_updates=None,
            target_period_updates=3,
        )

    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(10, SIZE)).astype(np.float32)

    def push(store, some):
        for gradient in some:
            store.push(gradient, store.pull().versions, steps=4)

    without_stop, first, second = make(), make(), make()
    for store in (without_stop, first):
        store.initialise(store_contract.ONES)
    push(without_stop, gradients)
    push(first, gradients[:5])
    second.restore(first.save())
    push(second, gradients[5:])
    for target in (False, True):
        ours, theirs = (s.pull(target=target) for s in (second, without_stop))
        np.testing.assert_array_equal(ours.vector, theirs.vector)
        assert ours.updates == theirs.updates
        assert ours.steps == theirs.steps == 40
    assert second.statistics() == without_stop.statistics()
