"""The store in shared memory."""

import pytest

from rlcomponents.parameters import shared_memory, shared_memory_store
from rlcomponents.testing import store_contract


def make_store(settings, memory):
    return shared_memory_store.SharedMemoryStore(
        settings.layout,
        memory.open(),
        settings.rule,
        settings.learning_rate,
        max_staleness_updates=settings.max_staleness_updates,
        target_period_updates=settings.target_period_updates,
        target_period_steps=settings.target_period_steps,
        max_gradient_norm=settings.max_gradient_norm,
    )


class TestSharedMemoryStore(store_contract.StoreContract):
    shows_half_updates = "Hogwild!: pulls copy the arrays that others are changing."

    @pytest.fixture
    def make_store(self):
        return lambda settings: make_store(
            settings, shared_memory.SharedMemory.create()
        )
