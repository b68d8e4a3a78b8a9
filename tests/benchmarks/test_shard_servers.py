"""Tests of benchmarks.shard_servers."""

import numpy as np
import pytest
import shard_servers

from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import sharded_client


def test_the_bytes_of_a_baseline_are_made_once():
    echo = shard_servers.Echo(5)
    assert echo.get() == bytes(5)
    assert echo.get() is echo.get()


@pytest.mark.integration
def test_each_cut_is_served_with_its_baseline():
    layout = layouts.ParameterLayout(["w"], [[5]])
    with shard_servers.served([(layout, 1), (layout, 2)]) as (whole, halves):
        for clients, num_bytes in ((whole, [20]), (halves, [12, 8])):
            store = sharded_client.ShardedClient(
                layout, clients, should_stop=lambda: False
            )
            store.initialise(np.arange(5, dtype=np.float32))
            np.testing.assert_array_equal(store.pull().vector, [0, 1, 2, 3, 4])
            assert [len(client.get()) for client in clients] == num_bytes
            assert [client.put(b"abc") for client in clients] == [3] * len(clients)
