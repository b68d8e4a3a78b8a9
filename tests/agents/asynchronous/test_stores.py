"""Each kind of parameter store, opened as the settings say."""

import pickle

import numpy as np
import pytest

from agents import parameter_shards
from agents.asynchronous import config as async_config
from agents.asynchronous import stores
from rlcomponents import array_files, core
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import shard, shared_memory
from rlcomponents.testing import in_process

LAYOUT = layouts.ParameterLayout(["w", "b"], [(2,), (1,)])
GRADIENT = np.array([30.0, 40.0, 0.0], np.float32)
KINDS = ("local", "shared_memory", "server")


class WithTarget(async_config.AsyncConfig):
    """Of an agent that keeps a target copy."""

    target_copy_period_steps = 4


def make_config(config_class=WithTarget, **settings):
    return config_class(
        **{
            "environment": "catch",
            "optimiser": "sgd",
            "learning_rate": 1.0,
            "max_steps": 100,
            "max_gradient_norm": 5.0,
            **settings,
        }
    )


def make_place(kind, config):
    if kind == "local":
        return stores.ThreadStore()
    if kind == "shared_memory":
        return shared_memory.SharedMemory.create()
    return [
        in_process.InProcessClient(
            shard.ParameterShard(**stores.shard_settings(config))
        )
        for _ in range(2)
    ]


def open_store(config, place, run_dir="no run"):
    return stores.open_store(config, str(run_dir), LAYOUT, place, lambda secs: False)


def open_for_coordinator(config, place):
    return stores.open_for_coordinator(config, place, lambda secs: False)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_two_workers_change_the_same_parameters(kind):
    config = make_config(parameter_store=kind)
    place = make_place(kind, config)
    first, second = (open_store(config, place) for _ in range(2))
    assert first.initialise(np.zeros(3, np.float32))
    assert not second.initialise(np.ones(3, np.float32))
    snapshot = second.pull()
    second.push(GRADIENT, snapshot.versions, 1)
    # Scaled to a norm of 5 as a whole, whatever it is cut into.
    np.testing.assert_allclose(first.pull().vector, [-3.0, -4.0, 0.0], rtol=1e-6)


def test_the_learning_rate_falls_with_the_steps_of_all(kind):
    config = make_config(parameter_store=kind)
    place = make_place(kind, config)
    first, second = (open_store(config, place) for _ in range(2))
    first.initialise(np.zeros(3, np.float32))
    first.push(np.zeros(3, np.float32), first.pull().versions, 75)
    second.push(GRADIENT, second.pull().versions, 1)
    np.testing.assert_allclose(
        first.pull().vector, [-0.75, -1.0, 0.0], rtol=1e-6
    )  # A quarter.


def test_a_target_copy_is_taken_where_the_steps_cross_its_period(kind):
    config = make_config(parameter_store=kind)
    store = open_store(config, make_place(kind, config))
    store.initialise(np.ones(3, np.float32))
    for expected in (1.0, None):
        store.push(GRADIENT, store.pull().versions, 3)  # 3 steps, then 6.
        target = store.pull(target=True).vector
        expected = store.pull().vector if expected is None else expected
        np.testing.assert_array_equal(target, np.broadcast_to(expected, 3))


def test_without_a_target_network_no_copy_is_kept(kind):
    config = make_config(async_config.AsyncConfig, parameter_store=kind)
    store = open_store(config, make_place(kind, config))
    store.initialise(np.ones(3, np.float32))
    with pytest.raises((ValueError, RuntimeError), match="keeps no target copy"):
        store.pull(target=True)


@pytest.mark.parametrize(
    ("statistics", "second_step"),
    [
        # Two workers, each with a gradient of 1: sqrt(0.0199 + 0.1) where they share
        # the mean of squares, sqrt(0.01 + 0.1) again where they do not.
        ("shared", 0.0199),
        ("private", 0.01),
    ],
)
def test_statistics_are_shared_or_private(kind, statistics, second_step):
    config = make_config(
        parameter_store=kind,
        optimiser="rmsprop",
        optimiser_statistics=statistics,
        final_learning_rate_fraction=1.0,
    )
    place = make_place(kind, config)
    first, second = (open_store(config, place) for _ in range(2))
    first.initialise(np.zeros(3, np.float32))
    ones = np.ones(3, np.float32)
    first.push(ones, first.pull().versions, 1)
    after_one = first.pull().vector
    np.testing.assert_allclose(after_one, -1 / np.sqrt(0.11), rtol=1e-5)
    second.push(ones, second.pull().versions, 1)
    step = after_one - first.pull().vector
    np.testing.assert_allclose(step, 1 / np.sqrt(second_step + 0.1), rtol=1e-5)


def test_private_statistics_clip_gradients_and_not_steps(kind):
    config = make_config(
        parameter_store=kind,
        optimiser="momentum",
        optimiser_decay=0.5,
        optimiser_statistics="private",
        final_learning_rate_fraction=1.0,
        max_gradient_norm=5.0,
    )
    store = open_store(config, make_place(kind, config))
    store.initialise(np.zeros(3, np.float32))
    store.push(GRADIENT, store.pull().versions, 1)
    np.testing.assert_allclose(store.pull().vector, [-1.5, -2.0, 0.0], rtol=1e-6)


def test_the_coordinator_counts_and_saves_before_there_are_parameters(kind):
    config = make_config(parameter_store=kind)
    statistics, shards = open_for_coordinator(config, make_place(kind, config))
    assert statistics() == core.StoreStatistics(0, 0, 0, 0.0)
    for each in shards:
        state = each.save()
        assert "parameters" not in state
        assert {"epoch", "steps", "updates"} <= state.keys()
        assert {np.asarray(value).item() for value in state.values()} == {0}


def test_the_coordinator_counts_and_saves_what_workers_do(kind):
    config = make_config(parameter_store=kind)
    place = make_place(kind, config)
    statistics, shards = open_for_coordinator(config, place)
    store = open_store(config, place)
    store.initialise(np.zeros(3, np.float32))
    store.push(GRADIENT, store.pull().versions, 7)
    assert (statistics().steps, statistics().updates) == (7, 1)
    saved = np.concatenate([each.save()["parameters"] for each in shards])
    np.testing.assert_array_equal(saved, store.pull().vector)


def test_a_local_store_stays_in_its_process():
    with pytest.raises(TypeError, match="cannot leave its process: use local_mt"):
        pickle.dumps(stores.ThreadStore())


@pytest.mark.parametrize("kind", ["local", "shared_memory"])
def test_a_store_in_memory_begins_with_the_snapshot_of_the_run(kind, tmp_path):
    config = make_config(parameter_store=kind)
    earlier = open_store(config, make_place("local", config))
    earlier.initialise(np.ones(3, np.float32))
    earlier.push(GRADIENT, earlier.pull().versions, 4)
    path = parameter_shards.snapshot_path(tmp_path)
    path.parent.mkdir()
    array_files.replace(path, earlier.save())
    place = make_place(kind, config)
    first = open_store(config, place, tmp_path)
    assert not first.initialise(np.zeros(3, np.float32))
    first.push(GRADIENT, first.pull().versions, 1)
    second = open_store(config, place, tmp_path)  # Goes on, and does not begin again.
    assert second.pull().versions == (core.Version(1, 2),)
    assert second.statistics().steps == 5
    np.testing.assert_array_equal(
        second.pull(target=True).vector, earlier.pull(target=True).vector
    )
