"""Measures what a parameter store does to parameters, beside moving them.

1. How long does one update take, on one core? Against the same rule written in NumPy.
   The goal for the network of 2013, with RMSProp as A3C has it, is 0.4 ms.
2. What do snapshots cost? The time that a shard's process spends on one, copying and
   writing, against the time in which as many updates arrive as lie between two: with
   the settings of Gorila DQN, one shard, 60 updates a second. The goal is less than
   2 %; the copy alone holds up pushes.

    python benchmarks/bench_updates.py         (a few seconds)
"""

import functools
import pathlib
import tempfile

import measuring
import numpy as np

from agents.gorila_dqn import config as gorila_config
from rlcomponents import array_files, schedules
from rlcomponents.parameters import shard, update_rules

NUM_PARAMETERS = {"network of 2013": 680_000, "Nature's network": 1_700_000}
CALLS = 10
UPDATES_PER_SEC = 60


def numpy_adagrad(p: np.ndarray, g: np.ndarray, s: np.ndarray) -> None:
    """`AdaGrad(epsilon=1e-7)`, in place, as one would write it."""
    s += g * g
    p -= np.float32(1e-3) * g / (np.sqrt(s) + np.float32(1e-7))


def numpy_rmsprop(p: np.ndarray, g: np.ndarray, s: np.ndarray) -> None:
    """`RMSProp(decay=0.99, epsilon=0.1)`, in place, as one would write it."""
    s *= np.float32(0.99)
    s += np.float32(0.01) * (g * g)
    p -= np.float32(1e-3) * g / np.sqrt(s + np.float32(0.1))


def main() -> None:
    """Prints milliseconds, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=7)
    report = measuring.Report("updates", options)
    print("One update, one thread")
    for network, size in NUM_PARAMETERS.items():
        _report_rules(report, options.rounds, network, size)
    print("Snapshots of a shard")
    for network, size in NUM_PARAMETERS.items():
        _report_snapshots(report, options.rounds, network, size)
    report.write()


def _report_rules(
    report: measuring.Report, rounds: int, network: str, size: int
) -> None:
    """Reports the time of an update by each rule, and the ratio to NumPy's."""
    rng = np.random.default_rng(0)
    for rule, slot, in_numpy in (
        (update_rules.AdaGrad(), "accumulator", numpy_adagrad),
        (update_rules.RMSProp(), "mean_square", numpy_rmsprop),
    ):
        p, g = rng.normal(size=(2, size)).astype(np.float32)
        state = rule.make_state(size)
        ours = functools.partial(rule.apply, p, g, state, 1e-3)
        theirs = functools.partial(in_numpy, p, g, state[slot])
        found = measuring.interleave(
            {"ours": lambda ours=ours: _ms(ours), "NumPy": lambda it=theirs: _ms(it)},
            rounds,
        )
        name = f"{type(rule).__name__}, {network}"
        is_a3c = slot == "mean_square" and size == 680_000
        report.ratio(
            f"{name}: ms an update", found["ours"], at_most=0.4 if is_a3c else None
        )
        report.number(f"{name}, in NumPy", found["NumPy"], "ms")
        report.ratio(
            f"{name}: speed / NumPy's", measuring.ratios(found["NumPy"], found["ours"])
        )


def _report_snapshots(
    report: measuring.Report, rounds: int, network: str, size: int
) -> None:
    """Reports the part of a shard's time that snapshots take."""
    config = gorila_config.GorilaConfig()
    interval_updates = config.snapshot_period_updates // 2  # As `SavedShard` has it.
    interval_ms = 1e3 * interval_updates / UPDATES_PER_SEC
    made = shard.ParameterShard(
        update_rules.AdaGrad(),
        schedules.Constant(1e-3),
        max_staleness_updates=None,
        target_period_updates=config.target_period_updates,
    )
    made.initialise(np.zeros(size, np.float32).tobytes())
    state = made.save()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "parameters-0.npz")
        copies = [_ms(made.save) for _ in range(rounds)]
        writes = [
            _ms(functools.partial(array_files.replace, path, state))
            for _ in range(rounds)
        ]
    report.number(f"{network}: copy", copies, "ms")
    report.number(f"{network}: write", writes, "ms")
    report.ratio(
        f"{network}: % of a shard's time, one each {interval_updates} updates",
        [100.0 * sum(each) / interval_ms for each in zip(copies, writes, strict=True)],
        at_most=2.0,
    )


def _ms(function: measuring.Call) -> float:
    return 1e3 * measuring.fastest_wall_secs(function, repeats=CALLS)


if __name__ == "__main__":
    main()
