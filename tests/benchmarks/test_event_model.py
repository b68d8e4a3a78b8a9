"""Tests of benchmarks.event_model: cases that can be computed by hand."""

import dataclasses
import itertools

import event_model
import pytest

# What one bundle has to do, in seconds; times at the shard are for a part of 100 bytes.
ONE = event_model.Program(
    workers=(
        event_model.Workers(
            number=1, agent_steps=4, acting_secs=0.8, gradient_secs=3.0
        ),
    ),
    num_shards=1,
    parameter_bytes=100,
    worker_pull=event_model.Cost(call_secs=0.1, byte_secs=0.001),  # 0.2
    worker_push=event_model.Cost(call_secs=0.3, byte_secs=0.001),  # 0.4
    shard_pull=event_model.Cost(call_secs=0.5),
    shard_push=event_model.Cost(call_secs=0.1, byte_secs=0.01),  # 1.1
)
CYCLE_SECS = 0.8 + 3.0 + 0.2 + 0.4 + 0.5 + 1.1  # 6.0


def of(number, **changes):
    """Returns `number` bundles of the program above, and other changes to it."""
    (bundle,) = ONE.workers
    bundle = dataclasses.replace(bundle, number=number)
    return dataclasses.replace(ONE, **{"workers": (bundle,), **changes})


def learners(number, *, gradient_secs=1.0, **changes):
    """Returns learners that do nothing but gradients, at shards that take no time."""
    workers = event_model.Workers(number=number, gradient_secs=gradient_secs)
    settings = {"workers": (workers,), "num_shards": 1, "parameter_bytes": 100}
    return event_model.Program(**{**settings, **changes})


def test_one_bundle_takes_the_sum_of_all_that_it_does():
    result = event_model.simulate(ONE)
    assert result.updates_per_sec == pytest.approx(1 / CYCLE_SECS)
    assert result.agent_steps_per_sec == pytest.approx(4 / CYCLE_SECS)
    assert result.pull_secs == pytest.approx(0.5 + 0.2)
    assert result.push_secs == pytest.approx(0.4 + 1.1)
    assert result.shard_busy == pytest.approx((0.5 + 1.1) / CYCLE_SECS)


def test_a_network_adds_its_bytes_and_four_latencies():
    program = of(1, network_bytes_per_sec=50.0, latency_secs=0.25)
    result = event_model.simulate(program)
    assert result.updates_per_sec == pytest.approx(1 / (CYCLE_SECS + 2 * 2.0 + 1.0))
    assert result.shard_link_busy == pytest.approx(2.0 / 11.0)


def test_shards_serve_their_parts_side_by_side():
    # Parts of 50 bytes: the worker handles two (0.15 and 0.35 each), a shard one. Of
    # the second push, shard 1 begins when the worker is done with both.
    result = event_model.simulate(of(1, num_shards=2))
    assert result.pull_secs == pytest.approx(0.5 + 2 * 0.15)
    assert result.push_secs == pytest.approx(2 * 0.35 + 0.6)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_gradients_of_n_learners_are_n_minus_1_updates_old(number):
    result = event_model.simulate(learners(number))
    assert result.mean_staleness_updates == pytest.approx(number - 1)
    assert result.updates_per_sec == pytest.approx(number)


def test_acting_between_push_and_pull_makes_gradients_fresher():
    # Of a cycle of 4 s, 3 s lie between pull and push: so do 3/4 of others' updates.
    workers = event_model.Workers(number=9, acting_secs=1.0, gradient_secs=3.0)
    result = event_model.simulate(
        learners(9, workers=(workers,), variation=0.5), cycles=300
    )
    assert result.mean_staleness_updates == pytest.approx(8 * 3 / 4, rel=0.03)


def test_what_is_older_than_the_limit_is_discarded():
    # Of 2 learners in step, one finds the other's update applied, and is too late.
    result = event_model.simulate(learners(2, max_staleness_updates=0))
    assert result.discarded_fraction == pytest.approx(0.5)
    assert result.mean_staleness_updates == 0.0
    assert result.updates_per_sec == pytest.approx(1.0)


def test_every_gradient_is_pulled_for_once_and_pushed_once():
    result = event_model.simulate(of(7, num_shards=3, variation=0.5), cycles=100)
    assert result.pulls_per_sec == pytest.approx(result.pushes_per_sec, rel=0.02)
    assert result.updates_per_sec == pytest.approx(result.pushes_per_sec)
    assert result.discarded_fraction == 0.0


def test_a_shard_lets_through_no_more_than_its_time_allows():
    result = event_model.simulate(of(50))
    assert result.updates_per_sec == pytest.approx(1 / (0.5 + 1.1), rel=0.01)
    assert result.shard_busy == pytest.approx(1.0)
    # All are in the queue but who computes: Little's law.
    assert result.pull_secs + result.push_secs == pytest.approx(
        50 * 1.6 - 0.8 - 3.0, rel=0.02
    )


def test_a_link_lets_through_no_more_than_its_rate_allows():
    program = of(50, network_bytes_per_sec=20.0)  # 5 s a part, in each direction.
    result = event_model.simulate(program)
    assert result.updates_per_sec == pytest.approx(1 / 5, rel=0.01)
    assert result.shard_link_busy == pytest.approx(1.0, rel=0.01)


def test_a_shard_with_random_arrivals_is_an_m_d_1_queue():
    # 400 learners with exponential times push about at random. A push takes 1 s: mean
    # wait rho / (2 (1 - rho)), with rho as it comes about.
    program = learners(
        400,
        gradient_secs=600.0,
        variation=1.0,
        shard_push=event_model.Cost(call_secs=1.0),
    )
    result = event_model.simulate(program, cycles=40, warm_cycles=5)
    rho = result.shard_busy
    assert 0.6 < rho < 0.7
    assert result.push_secs - 1.0 == pytest.approx(rho / (2 * (1 - rho)), rel=0.1)


def test_bundles_on_one_machine_share_its_cores():
    # Whoever does the work of a cycle: 2 cores do 2 s of it a second.
    result = event_model.simulate(of(20, cores=2.0), cycles=20)
    assert result.updates_per_sec == pytest.approx(2 / CYCLE_SECS, rel=0.02)


def test_actors_load_the_shards_and_push_nothing():
    actors = event_model.Workers(
        number=3, agent_steps=100, acting_secs=2.0, pushes=False
    )
    alone = learners(1)
    result = event_model.simulate(learners(1, workers=(*alone.workers, actors)))
    assert result.updates_per_sec == pytest.approx(1.0)
    assert result.agent_steps_per_sec == pytest.approx(3 * 100 / 2.0, rel=0.03)
    assert result.pulls_per_sec == pytest.approx(1.0 + 3 / 2.0, rel=0.03)


def test_one_seed_gives_one_result():
    program = of(3, variation=0.5)
    first, second, other = (
        event_model.simulate(program, seed=seed) for seed in (0, 0, 1)
    )
    assert first == second
    assert first != other


def test_bounds_of_machines_are_those_of_their_slowest_part():
    found = event_model.bounds(of(9, network_bytes_per_sec=50.0, latency_secs=0.25))
    assert found.cycle_secs == pytest.approx(11.0 - 0.2 - 0.4)  # While on the wire.
    assert found.bottleneck == "a shard's link"
    assert found.saturated_updates_per_sec == pytest.approx(0.5)
    assert found.knee_bundles == pytest.approx(10.4 / 2.0)


def test_bounds_of_one_machine_are_those_of_its_cores():
    found = event_model.bounds(of(9, cores=2.0, busy_speed=0.5))
    assert found.bottleneck == "the cores"
    assert found.saturated_updates_per_sec == pytest.approx(1 / CYCLE_SECS)


@pytest.mark.parametrize(("number", "rate"), itertools.product([1, 4, 12], [20.0, 1e6]))
def test_no_simulation_is_above_the_bounds(number, rate):
    program = of(number, num_shards=2, network_bytes_per_sec=rate, variation=0.3)
    found = event_model.bounds(program)
    most = min(number / found.cycle_secs, found.saturated_updates_per_sec)
    assert event_model.simulate(program).updates_per_sec <= most * 1.02


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"workers": ()}, "Nobody pushes"), ({"num_shards": 0}, "num_shards is 0")],
)
def test_programs_that_never_do_anything_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        of(1, **changes)
