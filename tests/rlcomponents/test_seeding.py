"""Tests of rlcomponents.seeding."""

import json
import subprocess
import sys

import numpy as np
import pytest

from rlcomponents import seeding, states
from rlcomponents.environments import catch


def test_actors_of_a_run_have_seeds_of_their_own():
    seeds = {
        seeding.derive(7, role, index)
        for role in ("environment", "exploration")
        for index in range(4)
    }
    assert len(seeds) == 8


def test_a_launch_later_the_seeds_are_the_same():
    code = (
        "from rlcomponents import seeding;"
        "print([seeding.derive(7, 'exploration', index) for index in range(4)])"
    )
    other_process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    here = [seeding.derive(7, "exploration", index) for index in range(4)]
    assert other_process.stdout.strip() == str(here)


def test_seeds_are_those_of_earlier_versions():
    # A change here changes every run there is.
    assert [seeding.derive(7, "actor", index) for index in range(2)] == [
        333682112,
        1314590571,
    ]


def test_seeds_depend_neither_on_the_order_nor_on_the_number_of_nodes():
    forwards = [seeding.derive(7, "actor", index) for index in range(4)]
    backwards = [seeding.derive(7, "actor", index) for index in reversed(range(6))]
    assert forwards == backwards[::-1][:4]


def test_runs_have_seeds_of_their_own():
    assert len({seeding.derive(seed, "actor") for seed in range(100)}) == 100


def test_many_nodes_of_many_roles_do_not_collide():
    seeds = [
        seeding.derive(seed, role, index)
        for seed in range(3)
        for role in ("environment", "exploration", "network")
        for index in range(100)
    ]
    assert len(set(seeds)) == len(seeds)


def test_seeds_fit_whatever_takes_a_seed():
    seeds = [seeding.derive(0, "actor", index) for index in range(1_000)]
    assert min(seeds) >= 0
    assert max(seeds) < 2**31
    assert max(seeds) > 2**30  # All bits are used.


def test_actors_play_and_explore_differently():
    def columns(index):
        game = catch.Catch(
            catch.CatchSettings(columns=50), seeding.derive(7, "environment", index)
        )
        return [int(game.reset().observation[0].argmax()) for _ in range(5)]

    def draws(index):
        seed = seeding.derive(7, "exploration", index)
        return list(np.random.default_rng(seed).integers(100, size=5))

    for values in (columns, draws):
        assert values(0) == values(0)
        assert values(0) != values(1)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on_from_where_it_was_saved(make):
    rng, other = make(1), make(2)
    rng.normal(size=3)  # Half of a pair is kept for the next call.
    state = states.from_json(
        json.loads(json.dumps(states.to_json(seeding.save_generator(rng))))
    )
    seeding.restore_generator(other, state)
    np.testing.assert_array_equal(rng.normal(size=7), other.normal(size=7))
    assert rng.bytes(5) == other.bytes(5)


def test_a_generator_of_another_kind_is_refused():
    state = seeding.save_generator(np.random.RandomState(1))
    with pytest.raises(ValueError, match="PCG64"):
        seeding.restore_generator(np.random.default_rng(1), state)
