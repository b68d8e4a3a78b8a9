"""Tests of rlcomponents.replay.tables."""

import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents.replay import limits as replay_limits
from rlcomponents.replay import tables


def _table(spec, **settings):
    values = {"max_items": 1000, "min_items": 100, "batch_size": 8} | settings
    [table] = tables.make_tables(spec, replay_limits.ReplayLimits(**values))
    return table


def test_without_a_ratio_the_table_only_waits_for_its_minimum(make_spec):
    limiter = _table(make_spec()).info.rate_limiter_info
    assert limiter.min_size_to_sample == 100
    assert limiter.max_diff > 1e300
    assert limiter.min_diff < -1e300


def test_the_ratio_is_held_within_the_slack(make_spec):
    table = _table(make_spec(), samples_per_insert=4.0, max_ahead_samples=50.0)
    limiter = table.info.rate_limiter_info
    assert limiter.samples_per_insert == 4.0
    # Due at the minimum fill: 4 * 100.
    assert (limiter.min_diff, limiter.max_diff) == (350.0, 450.0)


def test_sampling_is_uniform_and_the_oldest_item_goes_first(make_spec):
    info = _table(make_spec()).info
    assert info.sampler_options.WhichOneof("distribution") == "uniform"
    assert info.remover_options.WhichOneof("distribution") == "fifo"
    assert info.max_size == 1000


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        pytest.param(
            dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0),
            "takes one integer",
            id="continuous",
        ),
        pytest.param(
            {"move": dm_env_specs.DiscreteArray(3)}, "takes one integer", id="nested"
        ),
        pytest.param(
            dm_env_specs.DiscreteArray(2**24 + 1), "exact below 16777216", id="huge"
        ),
    ],
)
def test_actions_that_cannot_be_stored_are_refused(make_spec, actions, message):
    spec = make_spec()._replace(actions=actions)
    with pytest.raises(ValueError, match=message):
        _table(spec)
