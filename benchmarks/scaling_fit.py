"""Turns what `bench_scaling.py` measured into programs for `event_model`.

What a bundle does alone says how its time is divided, and calls of several sizes what
communication costs. In a program everything takes longer: other processes use the
caches, rows and snapshots are written. So four numbers are fitted to programs of few
bundles, each by one equation:

    bundle_factor   CPU time of a bundle's cycle over that alone, smallest program
    shard_factor    the same of the shards
    busy_speed      CPU time of a cycle in the smallest program over that in the others
    latency_secs    what the cycle of the smallest program lasts beyond its work

Programs of more bundles are not looked at; `compare` says how far off they are.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import event_model
import numpy as np

FITTED = (1, 2, 4)
"""Numbers of bundles to which the model is fitted."""

_LATENCY_ROUNDS = 8

Point = Mapping[str, float]
"""A measured program; see `bench_scaling.measure_program`."""


class Fit(NamedTuple):
    """A model that is fitted.

    Attributes:
        program: One bundle, on cores of its own.
        bundle_factor: See above.
        shard_factor: See above.
        cores: Of the machine it was measured on.
        other_nodes_cores: Which coordinator, evaluator and launcher kept busy.
    """

    program: event_model.Program
    bundle_factor: float
    shard_factor: float
    cores: float
    other_nodes_cores: float


class Comparison(NamedTuple):
    """A measured program beside the model's.

    Attributes:
        point: The measured one.
        result: The model's.
        is_fitted: Whether the model has seen it.
    """

    point: Point
    result: event_model.Result
    is_fitted: bool

    def error(self, name: str) -> float:
        """Returns how far the model is off, over what was measured."""
        return getattr(self.result, name) / self.point[name] - 1.0


def fit_cost(calls: Sequence[Mapping[str, float]], name: str) -> event_model.Cost:
    """Returns the line through the CPU times of calls, by least relative squares.

    Args:
        calls: For several sizes; see `scaling_parts.measure_calls`.
        name: Such as `push_shard_secs`.
    """
    sizes = np.array([call["part_bytes"] for call in calls])
    secs = np.maximum([call[name] for call in calls], 1e-6)
    byte_secs, call_secs = np.polyfit(sizes, secs, 1, w=1.0 / secs)
    if call_secs < 0.0:  # Through 0 then, which no call is below.
        call_secs, byte_secs = 0.0, float(np.mean(secs / sizes))
    return event_model.Cost(call_secs=float(call_secs), byte_secs=float(byte_secs))


def fit(results: Mapping[str, Any], game: str) -> Fit:
    """Fits the model of one game.

    Args:
        results: All that was measured.
        game: Its environment's name.

    Raises:
        ValueError: It was not measured with the smallest numbers of bundles.
    """
    measured = results["games"].get(game, {"points": []})
    points = [each for each in measured["points"] if each["bundles"] in FITTED]
    if [each["bundles"] for each in points] != list(FITTED):
        raise ValueError(
            f"{game} was measured with {[each['bundles'] for each in points]} bundles: "
            f"{list(FITTED)} are needed. Run benchmarks/bench_scaling.py."
        )
    first, others = points[0], points[1:]
    alone, calls = measured["alone"], results["calls"]
    program = event_model.Program(
        workers=(
            event_model.Workers(
                number=1,
                agent_steps=int(alone["agent_steps"]),
                acting_secs=alone["acting_secs"] * alone["agent_steps"],
                gradient_secs=alone["gradient_secs"],
            ),
        ),
        num_shards=measured["flags"]["num_parameter_shards"],
        parameter_bytes=4 * alone["num_parameters"],
        worker_pull=fit_cost(calls, "pull_worker_secs"),
        worker_push=fit_cost(calls, "push_worker_secs"),
        shard_pull=fit_cost(calls, "pull_shard_secs"),
        shard_push=fit_cost(calls, "push_shard_secs"),
        variation=alone["variation"],
    )
    bundle_factor = first["bundle_cpu_secs"] / _bundle_secs(program)
    shard_factor = first["shards_cpu_secs"] / _shards_secs(program)
    program = _slower(program, bundle_factor, shard_factor)
    program = dataclasses.replace(
        program,
        busy_speed=min(
            1.0, _cpu_secs(first) / statistics.mean(_cpu_secs(each) for each in others)
        ),
    )
    found = Fit(
        program,
        bundle_factor,
        shard_factor,
        float(results["machine"]["cores"]),
        statistics.mean(each["other_nodes_cores"] for each in points),
    )
    for _ in range(_LATENCY_ROUNDS):  # Shards that compute hide a part of it.
        result = event_model.simulate(on_this_machine(found, first))
        missing_secs = 1.0 / first["updates_per_sec"] - 1.0 / result.updates_per_sec
        latency_secs = max(0.0, found.program.latency_secs + missing_secs / 4)
        program = dataclasses.replace(found.program, latency_secs=latency_secs)
        found = found._replace(program=program)
    return found


def compare(results: Mapping[str, Any], game: str) -> list[Comparison]:
    """Fits the model of a game and simulates every program that was measured."""
    found = fit(results, game)
    return [
        Comparison(
            point,
            event_model.simulate(on_this_machine(found, point)),
            point["bundles"] in FITTED,
        )
        for point in results["games"][game]["points"]
    ]


def on_this_machine(found: Fit, point: Point) -> event_model.Program:
    """Returns the program of a measured one, with the cores that it had.

    Args:
        found: The fitted model.
        point: Says how many bundles, and what others took of the machine meanwhile.
    """
    cores = found.cores - found.other_nodes_cores - point["others_cores"]
    return dataclasses.replace(
        found.program,
        workers=bundles(found.program, int(point["bundles"])),
        cores=max(0.1, cores),
    )


def bundles(
    program: event_model.Program, number: int
) -> tuple[event_model.Workers, ...]:
    """Returns so many of the bundle that a program of one has."""
    (bundle,) = program.workers
    return (dataclasses.replace(bundle, number=number),)


def _bundle_secs(program: event_model.Program) -> float:
    (bundle,) = program.workers
    calls = (program.worker_pull, program.worker_push)
    moving_secs = sum(cost.secs(program.part_bytes) for cost in calls)
    return bundle.acting_secs + bundle.gradient_secs + program.num_shards * moving_secs


def _shards_secs(program: event_model.Program) -> float:
    calls = (program.shard_pull, program.shard_push)
    return program.num_shards * sum(cost.secs(program.part_bytes) for cost in calls)


def _slower(
    program: event_model.Program, bundle_factor: float, shard_factor: float
) -> event_model.Program:
    (bundle,) = program.workers
    return dataclasses.replace(
        program,
        workers=(
            dataclasses.replace(
                bundle,
                acting_secs=bundle_factor * bundle.acting_secs,
                gradient_secs=bundle_factor * bundle.gradient_secs,
            ),
        ),
        worker_pull=program.worker_pull.times(bundle_factor),
        worker_push=program.worker_push.times(bundle_factor),
        shard_pull=program.shard_pull.times(shard_factor),
        shard_push=program.shard_push.times(shard_factor),
    )


def _cpu_secs(point: Point) -> float:
    return point["bundle_cpu_secs"] + point["shards_cpu_secs"]
