"""Says how Gorila grows beyond what one machine can run: a model, fitted and checked.

    python benchmarks/predict_scaling.py                     what docs/scaling.md has
    python benchmarks/predict_scaling.py --bundles 50 100 --shards 8 31 --gbit 10

Takes what `bench_scaling.py` measured, by default docs/scaling.json, fits the model of
`event_model` to the programs of 1, 2 and 4 bundles and predicts larger ones, in which
each bundle and each shard has a machine with one core. With `--write`, tables and plot
go into docs/scaling.md, and the measurements beside it.
"""

import argparse
import dataclasses
import functools
import itertools
import json
import pathlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import event_model
import scaling_fit

ROOT = pathlib.Path(__file__).parents[1]
MEASURED = ROOT / "docs/scaling.json"
PAGE = ROOT / "docs/scaling.md"
PLOT = ROOT / "docs/scaling.png"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

GAME = "atari:pong"
NUM_BUNDLES = (1, 10, 25, 50, 75, 100, 150, 200, 300)
NUM_SHARDS = (1, 2, 4, 8, 16, 31, 62)
GORILA_BUNDLES, GORILA_SHARDS = 100, 31
GBIT_PER_SEC = (1.0, 10.0)
MAX_STALENESS_UPDATES = 100
CYCLES, WARM_CYCLES = 30, 10


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
        alone = self.num_bundles / self.bounds.cycle_secs
        return self.result.updates_per_sec / alone


def predict(
    found: scaling_fit.Fit, num_bundles: int, num_shards: int, gbit_per_sec: float
) -> Prediction:
    """Simulates a program of so many machines."""
    program = scaling_fit.on_machines(found, num_bundles, num_shards, gbit_per_sec)
    simulate = functools.partial(
        event_model.simulate, cycles=CYCLES, warm_cycles=WARM_CYCLES
    )
    discarded = 0.0
    if num_bundles > MAX_STALENESS_UPDATES / 2:
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


def describe_measured(results: Mapping[str, Any]) -> Iterator[str]:
    """Yields what was measured, and on what."""
    machine = results["machine"]
    quick = ", quick: shows that it works, no more" * results["quick"]
    yield (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, at "
        f"{machine['commit']}, {results['started']}, load {results['load_before']:.1f} "
        f"before and {results['load_after']:.1f} after{quick}."
    )
    for game, measured in results["games"].items():
        num_parameters = measured["alone"]["num_parameters"]
        yield from ("", f"**{game}**, {num_parameters:,} parameters in 2 shards:")
        yield from _table(
            "bundles | updates/s (lowest to highest) | agent steps/s | "
            "staleness, updates | discarded | CPU ms a gradient: bundle | its shards | "
            "others' cores | memory, GiB",
            (
                f"{p['bundles']} | {p['updates_per_sec']:.1f} ("
                f"{p['updates_per_sec_low']:.1f} to {p['updates_per_sec_high']:.1f}) | "
                f"{p['agent_steps_per_sec']:.0f} | {p['mean_staleness_updates']:.2f} | "
                f"{p['discarded_fraction']:.1%} | {1e3 * p['bundle_cpu_secs']:.2f} | "
                f"{1e3 * p['shards_cpu_secs']:.2f} | {p['others_cores']:.2f} | "
                f"{p['memory_gib']:.1f}"
                for p in measured["points"]
            ),
        )


def describe_fit(results: Mapping[str, Any]) -> Iterator[str]:
    """Yields the fitted models and how they compare with what was measured."""
    for game in results["games"]:
        found = scaling_fit.fit(results, game)
        program = found.program
        (bundle,) = program.workers
        yield from ("", f"**{game}**")
        yield from _table(
            "a cycle of a bundle, ms of a core |",
            (
                f"acting, {bundle.agent_steps} agent steps | "
                f"{1e3 * bundle.acting_secs:.2f}",
                f"gradient, with its batch | {1e3 * bundle.gradient_secs:.2f}",
                f"pull, at the bundle, a shard | {_cost(program.worker_pull)}",
                f"push, at the bundle, a shard | {_cost(program.worker_push)}",
                f"pull, at the shard | {_cost(program.shard_pull)}",
                f"push with its update, at the shard | {_cost(program.shard_push)}",
                f"a message under way | {1e3 * program.latency_secs:.2f}",
                f"(over the same alone: bundle, shard) | {found.bundle_factor:.2f}, "
                f"{found.shard_factor:.2f}",
                f"(speed of a core beside a busy one) | {program.busy_speed:.2f}",
                f"(variation of a cycle) | {program.variation:.2f}",
            ),
        )
        yield from _table(
            "bundles | | updates/s measured | model | error | staleness measured | "
            "model | error",
            (_compared_row(each) for each in scaling_fit.compare(results, game)),
        )


def describe_predictions(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yields a table, a row for each program."""
    yield from _table(
        "bundles | shards | Gbit/s | updates/s | of bundles that never wait | "
        "agent steps/s | staleness, updates | discarded at 100 | pull, ms | push, ms | "
        "a shard's core busy | its link busy | saturates | knee, bundles",
        (
            f"{p.num_bundles} | {p.num_shards} | {p.gbit_per_sec:g} | "
            f"{p.result.updates_per_sec:.0f} | {p.efficiency:.0%} | "
            f"{p.result.agent_steps_per_sec:,.0f} | "
            f"{p.result.mean_staleness_updates:.1f} | {p.discarded_fraction:.1%} | "
            f"{1e3 * p.result.pull_secs:.0f} | {1e3 * p.result.push_secs:.0f} | "
            f"{p.result.shard_busy:.0%} | {p.result.shard_link_busy:.0%} | "
            f"{p.bounds.bottleneck}, {p.bounds.saturated_updates_per_sec:.0f}/s | "
            f"{p.bounds.knee_bundles:.0f}"
            for p in predictions
        ),
    )


def plot(results: Mapping[str, Any], grown: Sequence[Prediction]) -> None:
    """Draws measured and simulated programs, and the predictions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    for game, colour in zip(results["games"], ("tab:blue", "tab:orange"), strict=False):
        compared = scaling_fit.compare(results, game)
        numbers = [each.point["bundles"] for each in compared]
        most = max(each.point["updates_per_sec"] for each in compared)
        measured = [each.point["updates_per_sec"] / most for each in compared]
        model = [each.result.updates_per_sec / most for each in compared]
        left.plot(numbers, measured, "o", color=colour, label=f"{game}, measured")
        left.plot(numbers, model, "-", color=colour, label="model")
    left.axvspan(min(scaling_fit.FITTED), max(scaling_fit.FITTED), alpha=0.1)
    left.set(xscale="log", ylim=(0, None), xlabel="bundles (shaded: fitted)")
    left.set_xticks(numbers, [str(number) for number in numbers])
    left.set_ylabel("updates/s, over the most measured")
    for rate, colour in zip(GBIT_PER_SEC, ("tab:green", "tab:red"), strict=True):
        rows = [each for each in grown if each.gbit_per_sec == rate]
        numbers = [each.num_bundles for each in rows]
        simulated = [each.result.updates_per_sec for each in rows]
        most = max(simulated)
        right.plot(numbers, simulated, "o-", color=colour, label=f"{rate:g} Gbit/s")
        bound = rows[0].bounds
        line = [
            min(n / bound.cycle_secs, bound.saturated_updates_per_sec) for n in numbers
        ]
        right.plot(numbers, line, ":", color=colour, label="bound")
    right.axvline(GORILA_BUNDLES, color="grey", linewidth=0.8)
    right.set(xlabel=f"bundles, {GORILA_SHARDS} shards, a machine each")
    right.set(ylabel="updates/s", ylim=(0, None))
    for axes in (left, right):
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.savefig(PLOT, dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


def main() -> None:
    """Prints tables, or writes them into the page."""
    options = _parse_options()
    results = json.loads(options.json.read_text())
    found = scaling_fit.fit(results, GAME)
    if options.bundles or options.shards:
        sizes = itertools.product(
            options.bundles or [GORILA_BUNDLES],
            options.shards or [GORILA_SHARDS],
            options.gbit,
        )
        print("\n".join(describe_predictions(predict(found, *size) for size in sizes)))
        return
    grown = [
        predict(found, number, GORILA_SHARDS, rate)
        for rate, number in itertools.product(options.gbit, NUM_BUNDLES)
    ]
    cut = [
        predict(found, GORILA_BUNDLES, number, rate)
        for rate, number in itertools.product(options.gbit, NUM_SHARDS)
    ]
    lines = [
        *("### Measured", "", *describe_measured(results)),
        *("", "### The model, fitted to 1, 2 and 4 bundles", *describe_fit(results)),
        *("", f"### Predicted: {GORILA_SHARDS} shards", *describe_predictions(grown)),
        *("", f"### Predicted: {GORILA_BUNDLES} bundles", *describe_predictions(cut)),
    ]
    if not options.write:
        print("\n".join(lines))
        return
    plot(results, grown)
    if options.json.resolve() != MEASURED.resolve():
        shutil.copyfile(options.json, MEASURED)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    picture = f"![Measured, simulated and predicted updates per second]({PLOT.name})"
    text = "\n".join([BEGIN, "", picture, "", *lines, "", END])
    PAGE.write_text(before + text + after)
    print(f"Wrote {PAGE}, {PLOT} and {MEASURED}.")


def _compared_row(each: scaling_fit.Comparison) -> str:
    stale = each.point["mean_staleness_updates"]
    # One bundle's gradients are never old: there is nothing to be relative to.
    error = f"{each.error('mean_staleness_updates'):+.0%}" if stale else ""
    return (
        f"{each.point['bundles']} | {'fitted' if each.is_fitted else '**left out**'} | "
        f"{each.point['updates_per_sec']:.1f} | {each.result.updates_per_sec:.1f} | "
        f"{each.error('updates_per_sec'):+.0%} | {stale:.2f} | "
        f"{each.result.mean_staleness_updates:.2f} | {error}"
    )


def _cost(cost: event_model.Cost) -> str:
    return f"{1e3 * cost.call_secs:.2f} + {1e9 * cost.byte_secs:.2f} a MB"


def _table(header: str, rows: Iterable[str]) -> Iterator[str]:
    columns = [name.strip() for name in header.split("|")]
    yield from ("", f"| {' | '.join(columns)} |")
    yield "|" + "---:|" * len(columns)
    for row in rows:
        yield f"| {row} |"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("json", nargs="?", type=pathlib.Path, default=MEASURED)
    parser.add_argument("--bundles", nargs="+", type=int)
    parser.add_argument("--shards", nargs="+", type=int)
    parser.add_argument("--gbit", nargs="+", type=float, default=GBIT_PER_SEC)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
