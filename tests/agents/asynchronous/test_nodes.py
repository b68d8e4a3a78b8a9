"""Tests of agents.asynchronous.nodes."""

import numpy as np

from agents.a3c import config as a3c_config
from agents.asynchronous import nodes, stores
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import shared_memory
from rlcomponents.runs import checkpoints, run_folder, summary


def test_the_coordinator_counts_saves_and_stops_the_program(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    config = a3c_config.A3CConfig(environment="catch", max_steps=10)
    place = shared_memory.SharedMemory.create()
    store = stores.open_store(
        config,
        str(folder.path),
        layouts.ParameterLayout(["w"], [(3,)]),
        place,
        lambda timeout_secs: False,
    )
    store.initialise(np.zeros(3, np.float32))
    stops = []
    coordinator = nodes.make_coordinator(
        config,
        str(folder.path),
        "a3c",
        place,
        lambda: stops.append(True),
        lambda timeout_secs: bool(store.statistics().steps),
    )
    store.push(np.ones(3, np.float32), store.pull().versions, 10)
    assert not coordinator.step()  # The last evaluation has not been played.
    coordinator.run()  # Sees a stop.
    assert stops == []
    result = summary.read(folder.summary_json)
    assert (result.agent, result.environment) == ("a3c", "catch")
    assert (result.agent_steps, result.updates) == (10, 1)
    states, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert facts["num_parameter_shards"] == 1
    np.testing.assert_array_equal(
        states["parameters_0"]["parameters"], store.pull().vector
    )
