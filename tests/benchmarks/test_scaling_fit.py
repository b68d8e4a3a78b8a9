"""Tests of benchmarks.scaling_fit: it finds the program again that was simulated."""

import dataclasses

import event_model
import pytest
import scaling_fit
import scaling_prediction
import scaling_report

GAME = "suite:game"
SIZES = (1_000, 10_000, 100_000)
ALONE = event_model.Program(
    workers=(
        event_model.Workers(
            number=1, agent_steps=4, acting_secs=0.008, gradient_secs=0.03
        ),
    ),
    num_shards=2,
    parameter_bytes=80_000,
    worker_pull=event_model.Cost(call_secs=1e-4, byte_secs=1e-8),
    worker_push=event_model.Cost(call_secs=2e-4, byte_secs=2e-8),
    shard_pull=event_model.Cost(call_secs=3e-4, byte_secs=3e-8),
    shard_push=event_model.Cost(call_secs=4e-4, byte_secs=4e-8),
)
CALLS = ("pull_worker", "push_worker", "pull_shard", "push_shard")
COSTS = (ALONE.worker_pull, ALONE.worker_push, ALONE.shard_pull, ALONE.shard_push)
BUNDLE_SECS = 0.008 + 0.03 + 2 * (3e-4 + 3e-8 * 40_000)  # 0.041
SHARDS_SECS = 2 * (7e-4 + 7e-8 * 40_000)  # 0.007
# What a program makes of it: bundles half as fast again, shards twice as slow, ...
TRUE = {"bundle_factor": 1.5, "shard_factor": 2.0, "busy_speed": 0.8}
LATENCY_SECS = 0.002


def make_results(numbers=(1, 2, 4, 8)):
    """Returns what would be measured of the program that `TRUE` describes."""
    points = []
    for number in numbers:
        slow = 1.0 if number == 1 else 1 / TRUE["busy_speed"]
        true = scaling_fit._slower(ALONE, TRUE["bundle_factor"], TRUE["shard_factor"])
        true = dataclasses.replace(
            true,
            workers=scaling_fit.bundles(true, number),
            busy_speed=TRUE["busy_speed"],
            latency_secs=LATENCY_SECS,
            cores=2.0 - 0.1 - 0.3,
        )
        points.append(
            {
                "bundles": number,
                "bundle_cpu_secs": slow * TRUE["bundle_factor"] * BUNDLE_SECS,
                "shards_cpu_secs": slow * TRUE["shard_factor"] * SHARDS_SECS,
                "other_nodes_cores": 0.1,
                "others_cores": 0.3,
                **event_model.simulate(true)._asdict(),
            }
        )
    alone = {
        "num_parameters": 20_000,
        "agent_steps": 4,
        "acting_secs": 0.002,
        "gradient_secs": 0.03,
        "variation": 0.0,
    }
    calls = [
        {
            "part_bytes": size,
            **{f"{n}_secs": c.secs(size) for n, c in zip(CALLS, COSTS, strict=True)},
        }
        for size in SIZES
    ]
    game = {"flags": {"num_parameter_shards": 2}, "alone": alone, "points": points}
    return {"machine": {"cores": 2}, "calls": calls, "games": {GAME: game}}


def test_costs_are_the_line_through_the_sizes():
    calls = [{"part_bytes": size, "x": 1e-3 + 2e-9 * size} for size in SIZES]
    cost = scaling_fit.fit_cost(calls, "x")
    assert cost.call_secs == pytest.approx(1e-3)
    assert cost.byte_secs == pytest.approx(2e-9)


def test_no_call_costs_less_than_nothing():
    calls = [{"part_bytes": 100.0, "x": 0.1}, {"part_bytes": 200.0, "x": 0.3}]
    assert scaling_fit.fit_cost(calls, "x") == event_model.Cost(
        byte_secs=pytest.approx((0.1 / 100 + 0.3 / 200) / 2)
    )


def test_a_fit_finds_the_program_that_was_measured():
    found = scaling_fit.fit(make_results(), GAME)
    assert found.bundle_factor == pytest.approx(TRUE["bundle_factor"])
    assert found.shard_factor == pytest.approx(TRUE["shard_factor"])
    assert found.program.busy_speed == pytest.approx(TRUE["busy_speed"])
    assert found.program.latency_secs == pytest.approx(LATENCY_SECS, rel=0.01)
    assert found.other_nodes_cores == pytest.approx(0.1)


def test_sizes_left_out_are_compared_and_not_looked_at():
    results = make_results()
    results["games"][GAME]["points"][-1]["bundle_cpu_secs"] = 1e9  # Of 8 bundles.
    compared = scaling_fit.compare(results, GAME)
    assert [each.is_fitted for each in compared] == [True, True, True, False]
    for each in compared:
        assert each.error("updates_per_sec") == pytest.approx(0.0, abs=0.01)
        if each.point["bundles"] > 1:
            assert each.error("mean_staleness_updates") == pytest.approx(0, abs=0.05)


def test_an_error_is_relative_to_what_was_measured():
    result = event_model.simulate(ALONE)
    point = {"updates_per_sec": result.updates_per_sec / 1.25}
    compared = scaling_fit.Comparison(point, result, True)
    assert compared.error("updates_per_sec") == pytest.approx(0.25)


def test_sizes_that_are_missing_are_named():
    with pytest.raises(ValueError, match=r"with \[1, 2\] bundles: \[1, 2, 4\] are"):
        scaling_fit.fit(make_results(numbers=(1, 2)), GAME)


def test_machines_of_their_own_share_no_cores():
    found = scaling_fit.fit(make_results(), GAME)
    program = scaling_prediction.on_machines(found, 100, 31, gbit_per_sec=10)
    assert program.cores is None
    assert program.num_shards == 31
    assert program.workers[0].number == 100
    assert program.network_bytes_per_sec == 1.25e9
    assert program.latency_secs == pytest.approx(LATENCY_SECS + 50e-6, rel=0.01)


def test_a_prediction_says_how_much_waiting_costs():
    found = scaling_fit.fit(make_results(), GAME)
    alone, many = (
        scaling_prediction.predict(found, number, 1, gbit_per_sec=10)
        for number in (1, 60)
    )
    assert alone.efficiency == pytest.approx(1.0, rel=0.02)
    assert many.efficiency < 0.5
    assert many.result.updates_per_sec <= many.bound_updates_per_sec * 1.02
    assert many.discarded_fraction == 0.0  # 60 bundles are never 100 updates late.


def test_the_report_names_errors_and_the_knee():
    results = make_results()
    found = scaling_fit.fit(results, GAME)
    prediction = scaling_prediction.predict(found, 3, 2, gbit_per_sec=1)
    text = "\n".join(scaling_report.summarise(results, [prediction]))
    assert "8 bundles, which the fit has not seen: updates/s are +0%" in text
    assert "3 bundles, 2 shards, 1 Gbit/s" in text
    knee = f"The knee is at {prediction.bounds.knee_bundles:.0f} bundles"
    assert knee in text
