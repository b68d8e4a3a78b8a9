"""Tests of rlcomponents.replay.servers."""

import tempfile

import dm_env
import numpy as np
import pytest
import reverb
from dm_env import specs as dm_env_specs

from rlcomponents.replay import adders, servers, tables
from rlcomponents.replay import limits as replay_limits

SCALAR = dm_env_specs.Array((), np.float32)


def test_a_server_tells_what_it_holds(make_spec, make_replay):
    spec = make_spec(SCALAR)
    replay = make_replay(spec, max_items=50, min_items=3)
    adder = adders.TransitionAdder(replay.address, spec, num_steps=1, discount=0.9)
    adder.add_first(dm_env.restart(np.float32(0)))
    for _ in range(4):
        adder.add(0, dm_env.transition(0.0, np.float32(0)))
    adder.flush()
    adder.close()
    assert servers.info(replay.address) == (4, 3, 50)
    assert replay.num_items == 4


def test_a_server_that_does_not_answer_is_named():
    with pytest.raises(TimeoutError, match=r"localhost:1 did not answer within 0\.1 s"):
        servers.info("localhost:1", timeout_secs=0.1)


def test_an_unknown_table_is_refused(make_spec, make_replay):
    replay = make_replay(make_spec())
    with pytest.raises(ValueError, match="no table 'sequences'; it has transitions"):
        servers.info(replay.address, table="sequences")


def test_a_server_leaves_nothing_in_the_temporary_folder(
    make_spec, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = replay_limits.ReplayLimits(max_items=9, min_items=1, batch_size=1)
    replay = servers.LocalReplay(tables.make_tables(make_spec(), limits))
    with pytest.raises(RuntimeError, match="/dev/null is not a directory"):
        reverb.Client(replay.address).checkpoint()
    replay.close()
    assert list(tmp_path.iterdir()) == []
