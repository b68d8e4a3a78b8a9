"""What the fitted model says of programs that cannot be run here.

Each bundle and each shard has a machine with one core, and a link to all others.
"""

import dataclasses
import functools
from typing import NamedTuple

import event_model
import scaling_fit

LAN_LATENCY_SECS = 50e-6
"""Of a message between two machines, one way, beside the waking of threads."""

MAX_STALENESS_UPDATES = 100
"""Gorila's setting here; the paper does not give its own."""

_CYCLES, _WARM_CYCLES = 20, 8


class Prediction(NamedTuple):
    """A program that was not measured.

    Attributes:
        num_bundles: Each with a machine.
        num_shards: Each with a machine.
        gbit_per_sec: Of each machine's link.
        result: Where no gradient is too old.
        discarded_fraction: Where those older than `MAX_STALENESS_UPDATES` are.
        bounds: Of the program.
    """

    num_bundles: int
    num_shards: int
    gbit_per_sec: float
    result: event_model.Result
    discarded_fraction: float
    bounds: event_model.Bounds

    @property
    def efficiency(self) -> float:
        """Updates per second over those of as many bundles that never wait."""
        unhindered = self.num_bundles / self.bounds.cycle_secs
        return self.result.updates_per_sec / unhindered

    @property
    def bound_updates_per_sec(self) -> float:
        """What the program cannot exceed."""
        unhindered = self.num_bundles / self.bounds.cycle_secs
        return min(unhindered, self.bounds.saturated_updates_per_sec)


def predict(
    found: scaling_fit.Fit, num_bundles: int, num_shards: int, gbit_per_sec: float
) -> Prediction:
    """Simulates a program of so many machines."""
    program = on_machines(found, num_bundles, num_shards, gbit_per_sec)
    simulate = functools.partial(
        event_model.simulate, cycles=_CYCLES, warm_cycles=_WARM_CYCLES
    )
    discarded = 0.0
    if num_bundles > 0.75 * MAX_STALENESS_UPDATES:
        limited = dataclasses.replace(
            program, max_staleness_updates=MAX_STALENESS_UPDATES
        )
        discarded = simulate(limited).discarded_fraction
    return Prediction(
        num_bundles,
        num_shards,
        gbit_per_sec,
        simulate(program),
        discarded,
        event_model.bounds(program),
    )


def on_machines(
    found: scaling_fit.Fit, num_bundles: int, num_shards: int, gbit_per_sec: float
) -> event_model.Program:
    """Returns a program in which each process has a machine with one core.

    Args:
        found: The fitted model.
        num_bundles: How many.
        num_shards: How many.
        gbit_per_sec: Of each machine's link, in each direction.
    """
    return dataclasses.replace(
        found.program,
        workers=scaling_fit.bundles(found.program, num_bundles),
        num_shards=num_shards,
        network_bytes_per_sec=gbit_per_sec * 1e9 / 8,
        latency_secs=found.program.latency_secs + LAN_LATENCY_SECS,
    )
