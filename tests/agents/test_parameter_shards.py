"""Tests of agents.parameter_shards."""

import dataclasses

import launchpad as lp
import numpy as np
import pytest

from agents import parameter_shards
from rlcomponents import core, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import update_rules, wire
from rlcomponents.testing import harness, in_process

ONES = np.ones(2, np.float32)
LAYOUT = layouts.ParameterLayout(["w"], [(2,)])


@dataclasses.dataclass(frozen=True)
class Config:
    """Settings of some run."""

    num_parameter_shards: int = 2
    parameter_timeout_secs: float = 5.0
    snapshot_period_updates: int = 4
    learning_rate: float = 0.5


def make_settings(config):
    return {
        "rule": update_rules.SGD(),
        "learning_rate": schedules.Constant(config.learning_rate),
        "max_staleness_updates": None,
        "target_period_updates": None,
    }


def never(secs):
    return False


@pytest.fixture
def run_dir(tmp_path):
    (tmp_path / "state").mkdir()
    return str(tmp_path)


def make_shard(run_dir, index=0, wait_for_stop=never):
    return parameter_shards.make_shard(
        Config(), run_dir, index, make_settings, wait_for_stop
    )


def test_a_program_has_as_many_shards_as_asked_for(run_dir):
    program = lp.Program("some")
    handles = parameter_shards.add_nodes(program, Config(), run_dir, make_settings)
    assert len(handles) == 2
    with harness.ProgramHarness(program) as built:
        first, second = (built.build(f"parameters/{index}") for index in range(2))
    assert wire.read_reply(first.initialise(ONES.tobytes()))
    wire.read_reply(first.push(ONES.tobytes(), 0, 0, 1))
    assert first.save()["parameters"].tolist() == [0.5, 0.5]
    assert not second.is_initialised


def test_courier_sends_nothing_to_a_shard_twice(run_dir):
    handles = parameter_shards.add_nodes(
        lp.Program("some"), Config(), run_dir, make_settings
    )
    for handle in handles:
        assert handle._kwargs == {"call_timeout": 5.0, "wait_for_ready": False}


def test_a_shard_goes_on_from_its_own_file(run_dir):
    for index in range(2):
        ended = make_shard(run_dir, index, lambda secs: True)
        ended.initialise((index * ONES).tobytes())
        ended.run()
    for index in range(2):
        assert make_shard(run_dir, index).save()["parameters"].tolist() == [index] * 2


def test_a_worker_opens_all_shards_as_one_store(run_dir):
    clients = [
        in_process.InProcessClient(make_shard(run_dir, index)) for index in range(2)
    ]
    store = parameter_shards.open_store(
        Config(), LAYOUT, clients, never, max_gradient_norm=1.0
    )
    store.initialise(0 * ONES)
    assert store.push(np.float32([3, 4]), store.pull().versions, 1).applied
    np.testing.assert_allclose(store.pull().vector, [-0.3, -0.4], rtol=1e-6)


def test_the_coordinator_counts_by_each_shard_and_saves_each(run_dir):
    shards = [make_shard(run_dir, index) for index in range(2)]
    clients = [in_process.InProcessClient(each) for each in shards]
    reached = parameter_shards.reach(Config(), clients, never)
    assert reached[0].statistics() == core.StoreStatistics(0, 0, 0, 0.0)
    shards[1].add_steps(5)
    assert [each.statistics().steps for each in reached] == [0, 5]
    assert reached[1].save() == shards[1].save()
