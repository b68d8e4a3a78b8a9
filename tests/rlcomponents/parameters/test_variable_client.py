"""Acme's own variable client takes its variables from our stores."""

import numpy as np
import pytest
import tensorflow as tf
from acme.tf import variable_utils

from rlcomponents import core
from rlcomponents.parameters import sharded_client
from rlcomponents.testing import in_process, store_contract


def make_sharded_client(settings):
    clients = [in_process.InProcessClient(settings.make_shard()) for _ in range(3)]
    return sharded_client.ShardedClient(
        settings.layout, clients, should_stop=lambda: False
    )


@pytest.mark.parametrize(
    "make_store",
    [store_contract.StoreSettings.make_local_store, make_sharded_client],
    ids=["local", "sharded"],
)
def test_acme_variable_client_follows_the_store(make_store):
    store = make_store(store_contract.StoreSettings(target_period_updates=2))
    initial = np.arange(store_contract.NUM_PARAMETERS, dtype=np.float32)
    store.initialise(initial)
    online, target = (
        [tf.Variable(tf.zeros(shape)) for shape in store_contract.LAYOUT.shapes]
        for _ in range(2)
    )
    client = variable_utils.VariableClient(
        store, {core.PARAMETERS: online, core.TARGET_PARAMETERS: target}
    )

    def values_of(variables):
        return store_contract.LAYOUT.join([v.numpy() for v in variables])

    client.update(wait=True)
    store.push(store_contract.ONES, store.pull().versions, 1)
    np.testing.assert_array_equal(values_of(online), initial)
    client.update(wait=True)
    np.testing.assert_array_equal(values_of(online), initial - 1)
    np.testing.assert_array_equal(values_of(target), initial)
