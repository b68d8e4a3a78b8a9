import concurrent.futures
import signal
import types

import numpy as np
import pytest

from agents.gorila_dqn import config as gorila_config
from agents.gorila_dqn import servers
from rlcomponents.parameters import shard, wire
from rlcomponents.runs import checkpoints, run_folder, summary
from rlcomponents.testing import in_process


def make_config(**settings):
    return gorila_config.GorilaConfig(**{"environment": "catch", **settings})


def make_shard(config):
    return shard.ParameterShard(**servers.shard_settings(config))


def push(parameter_shard, gradient, updates, steps=1):
    reply = parameter_shard.push(np.float32(gradient).tobytes(), 0, updates, steps)
    return wire.read_reply(reply)


def values(parameter_shard, *, target=False):
    reply = wire.read_reply(parameter_shard.pull(target))
    return np.frombuffer(reply[0], np.float32).tolist()


@pytest.fixture
def parameter_shard():
    config = make_config(
        optimiser="sgd",
        learning_rate=1.0,
        final_learning_rate_fraction=0.0,
        max_steps=100,
        steps_per_update=1,
        max_staleness_updates=1,
        target_period_updates=2,
    )
    made = make_shard(config)
    made.initialise(np.float32([0.0, 0.0]).tobytes())
    return made


def test_a_shard_applies_gradients_by_the_chosen_rule(parameter_shard):
    assert push(parameter_shard, [1.0, -2.0], updates=0) == ("applied", 0)
    assert values(parameter_shard) == [-1.0, 2.0]


def test_a_shards_learning_rate_falls_with_agent_steps(parameter_shard):
    push(parameter_shard, [1.0, 0.0], updates=0, steps=50)  # At rate 1.
    push(parameter_shard, [1.0, 0.0], updates=1)  # At rate 1 - 50 / 100.
    assert values(parameter_shard) == [-1.5, 0.0]


def test_a_shard_discards_what_is_too_old(parameter_shard):
    for updates in (0, 1):
        push(parameter_shard, [0.0, 0.0], updates)
    assert push(parameter_shard, [9.0, 9.0], updates=0) == ("stale", 2)
    assert push(parameter_shard, [1.0, 0.0], updates=1)[0] == "applied"


def test_a_shard_takes_the_target_copy_every_so_many_updates(parameter_shard):
    push(parameter_shard, [1.0, 0.0], updates=0, steps=0)
    assert values(parameter_shard, target=True) == [0.0, 0.0]
    push(parameter_shard, [1.0, 0.0], updates=1, steps=0)
    assert values(parameter_shard, target=True) == [-2.0, 0.0]


def test_the_coordinator_counts_by_shard_0_and_saves_all(tmp_path):
    config = make_config(max_steps=10, steps_per_update=1, num_bundles=3)
    shards = [make_shard(config) for _ in range(2)]
    for index, each in enumerate(shards):
        each.initialise(np.full(2, index, np.float32).tobytes())
    push(shards[0], [1.0, 1.0], updates=0, steps=4)
    folder = run_folder.RunFolder.create(tmp_path / "run")
    stopped = []
    clients = [in_process.InProcessClient(each) for each in shards]
    coordinator = servers.make_coordinator(
        config, str(folder.path), clients, lambda: stopped.append(1), lambda secs: True
    )
    coordinator.run()  # Is told to stop at once.
    assert not stopped
    result = summary.read(folder.summary_json)
    assert (result.agent, result.environment) == ("gorila_dqn", "catch")
    assert (result.agent_steps, result.updates) == (4, 1)
    parts, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["num_parameter_shards"] == 2
    assert parts["parameters_1"]["parameters"].tolist() == [1.0, 1.0]


def test_the_coordinator_knows_the_capacity_of_all_replays(tmp_path):
    config = make_config(num_bundles=3, max_replay_items=100, min_replay_items=1)
    folder = run_folder.RunFolder.create(tmp_path / "run")
    client = in_process.InProcessClient(make_shard(config))
    coordinator = servers.make_coordinator(
        config, str(folder.path), [client], lambda: None, lambda secs: True
    )
    coordinator.step()
    coordinator.close()
    header, row = folder.program_csv.read_text().splitlines()
    fields = dict(zip(header.split(","), row.split(","), strict=True))
    assert fields["replay_capacity_items"] == "300"


def test_a_coordinator_that_waits_for_a_dead_shard_can_be_interrupted(tmp_path):
    dead = types.SimpleNamespace(  # Never answers.
        address="dead",
        futures=types.SimpleNamespace(statistics=concurrent.futures.Future),
    )
    folder = run_folder.RunFolder.create(tmp_path / "run")
    coordinator = servers.make_coordinator(
        make_config(), str(folder.path), [dead], lambda: None, lambda secs: False
    )

    def interrupt(number, frame):
        raise SystemExit

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(SystemExit):
            coordinator.run()
    finally:
        signal.signal(signal.SIGALRM, previous)
