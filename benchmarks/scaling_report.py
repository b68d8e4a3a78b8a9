"""Tables and plot of what was measured, fitted and predicted."""

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import event_model
import scaling_fit
import scaling_prediction


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


def describe_predictions(
    predictions: Iterable[scaling_prediction.Prediction],
) -> Iterator[str]:
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


def summarise(
    results: Mapping[str, Any], predictions: Iterable[scaling_prediction.Prediction]
) -> Iterator[str]:
    """Yields what follows from it, in sentences.

    Args:
        results: All that was measured.
        predictions: Of Gorila's own size, on several networks.
    """
    for game in results["games"]:
        left_out = [e for e in scaling_fit.compare(results, game) if not e.is_fitted]
        numbers = " and ".join(str(each.point["bundles"]) for each in left_out)
        errors = {
            name: " and ".join(f"{each.error(name):+.0%}" for each in left_out)
            for name in ("updates_per_sec", "mean_staleness_updates")
        }
        yield (
            f"- {game}, {numbers} bundles, which the fit has not seen: updates/s are "
            f"{errors['updates_per_sec']} off, staleness "
            f"{errors['mean_staleness_updates']}."
        )
    for each in predictions:
        limit = scaling_prediction.MAX_STALENESS_UPDATES
        yield (
            f"- {each.num_bundles} bundles, {each.num_shards} shards, "
            f"{each.gbit_per_sec:g} Gbit/s: "
            f"{each.result.updates_per_sec:.0f} updates/s, {each.efficiency:.0%} of "
            f"what bundles that never wait would do, from gradients "
            f"{each.result.mean_staleness_updates:.0f} updates old; with "
            f"`--max_staleness_updates={limit}`, {each.discarded_fraction:.1%} are "
            f"discarded. The knee is at {each.bounds.knee_bundles:.0f} bundles: "
            f"{each.bounds.bottleneck} lets through "
            f"{each.bounds.saturated_updates_per_sec:.0f} updates/s."
        )


def plot(
    results: Mapping[str, Any],
    predictions: Sequence[scaling_prediction.Prediction],
    path: pathlib.Path,
) -> None:
    """Draws measured and simulated programs, and predictions for more bundles."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    for index, game in enumerate(results["games"]):
        compared = scaling_fit.compare(results, game)
        numbers = [each.point["bundles"] for each in compared]
        measured = [each.point["updates_per_sec"] for each in compared]
        simulated = [each.result.updates_per_sec for each in compared]
        left.plot(numbers, measured, "o", color=f"C{index}", label=f"{game}, measured")
        left.plot(numbers, simulated, "-", color=f"C{index}", label="model")
        left.set_xticks(numbers, [str(number) for number in numbers])
    left.axvspan(min(scaling_fit.FITTED), max(scaling_fit.FITTED), alpha=0.1)
    left.set(xlabel="bundles on this machine (shaded: fitted)", yscale="log")
    for index, rate in enumerate(sorted({each.gbit_per_sec for each in predictions})):
        rows = [each for each in predictions if each.gbit_per_sec == rate]
        numbers = [each.num_bundles for each in rows]
        simulated = [each.result.updates_per_sec for each in rows]
        bounds = [each.bound_updates_per_sec for each in rows]
        colour = f"C{2 + index}"
        right.plot(numbers, simulated, "o-", color=colour, label=f"{rate:g} Gbit/s")
        right.plot(numbers, bounds, ":", color=colour, label="bound")
    right.set(xlabel=f"bundles; {predictions[0].num_shards} shards; a machine each")
    right.set(ylim=(0, None))
    for axes in (left, right):
        axes.set_ylabel("updates/s")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


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
