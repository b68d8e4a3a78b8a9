"""What a store does with the answers of its shards, whatever reaches them."""

import pytest

from rlcomponents import core
from rlcomponents.parameters import sharded_store, wire
from rlcomponents.testing import store_contract

LAYOUT = store_contract.LAYOUT
ONES = store_contract.ONES


class DirectStore(sharded_store.ShardedStore):
    """Calls its shards one after another."""

    def __init__(self, shards):
        super().__init__(LAYOUT, len(shards))
        self._shards = shards

    def _call(self, method, arguments):
        replies = (
            getattr(each, method)(*args)
            for each, args in zip(self._shards, arguments, strict=False)
        )
        return [wire.read_reply(reply) for reply in replies]


def make_shards(num_shards, **settings):
    made = store_contract.StoreSettings(**settings)
    return [made.make_shard() for _ in range(num_shards)]


def test_shards_judge_alone():
    shards = make_shards(2, max_staleness_updates=0)
    store = DirectStore(shards)
    store.initialise(store_contract.ZEROS)
    old = store.pull().versions
    second = LAYOUT.shard_slices(2)[1]
    shards[1].push(ONES[second].tobytes(), 0, 0, 0)  # Somebody else was faster.
    result = store.push(ONES, old, 1)
    assert result.verdicts == (core.Verdict.APPLIED, core.Verdict.STALE)
    assert result.staleness_updates == (0, 1)
    assert not result.applied
    assert store.pull().versions == (core.Version(0, 1), core.Version(0, 1))


def test_another_number_of_shards_is_noticed():
    shards = make_shards(3)
    DirectStore(shards).initialise(ONES)
    with pytest.raises(ValueError, match="same network and number of shards"):
        DirectStore(shards[:2]).pull()
    with pytest.raises(ValueError, match="same network and number of shards"):
        DirectStore(shards[:2]).push(ONES, [core.Version(0, 0)] * 2, 1)


def test_a_norm_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match=r"max_gradient_norm is 0\.0: give"):
        store_contract.StoreSettings(max_gradient_norm=0.0).make_local_store()
