"""Puts the results of `make bench` into docs/benchmarks.md, so that nobody copies them.

Everything between the two marks there is replaced: the machine, each ratio with its
goal, what was measured, and a plot of how far each goal is met.

Usage: `python tools/benchmark_table.py [--write] [JSON]`; without `--write` it prints.
"""

import argparse
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

JSON = pathlib.Path("build/benchmarks.json")
PAGE = pathlib.Path("docs/benchmarks.md")
PLOT = pathlib.Path("docs/benchmarks.png")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def main() -> None:
    """Prints the results as Markdown, or writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", nargs="?", type=pathlib.Path, default=JSON)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    results = json.loads(arguments.json.read_text())
    text = "\n".join(describe(results))
    if not arguments.write:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    plot(results, PLOT)
    picture = f"![Each goal, and how far it is met]({PLOT.name})"
    PAGE.write_text(f"{before}{BEGIN}\n\n{picture}\n\n{text}\n\n{END}{after}")
    print(f"Wrote {PAGE} and {PLOT}.")


def describe(results: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of the results."""
    machine = results["machine"]
    packages = ", ".join(f"{k} {v}" for k, v in machine["packages"].items())
    peers = ", ".join(f"{k} {v}" for k, v in machine["peers"].items())
    yield (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}, {packages}, "
        f"at {machine['commit']}. Peers: {peers or 'not installed'}."
    )
    yield from ("", *_sum_up(results))
    for name, bench in results["benches"].items():
        quick = ", quick: shows that it works, no more" * bench["quick"]
        load = f"load {bench['load_before']} before, {bench['load_after']} after"
        yield from ("", f"### {name}", "")
        yield (
            f"{bench['started']}, {bench['rounds']} rounds in {bench['secs']:.0f} s, "
            f"{load}{quick}."
        )
        yield from ("", "| ratio | median | lowest to highest | goal | |")
        yield "|---|---:|---:|---:|---|"
        for ratio in bench["ratios"]:
            yield _ratio_row(ratio)
        yield from ("", "| measured | median | lowest to highest | |")
        yield "|---|---:|---:|---|"
        for number in bench["numbers"]:
            values = " | ".join((_say(number["median"]), _spread(number)))
            yield f"| {number['name']} | {values} | {number['unit']} |"
        for note in bench["notes"]:
            yield from ("", f"- {note}")


def plot(results: Mapping[str, Any], path: pathlib.Path) -> None:
    """Draws a bar for each goal: above 1 it is met."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [
        (f"{name}: {ratio['name']}", _part_of_goal(ratio), ratio["met"])
        for name, bench in results["benches"].items()
        for ratio in bench["ratios"]
        if "met" in ratio
    ]
    names, values, met = zip(*reversed(bars), strict=True)
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.22 * len(bars)))
    colours = ["tab:green" if each else "tab:orange" for each in met]
    axes.barh(names, [min(value, 3.0) for value in values], color=colours)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("part of the goal (1: met; cut at 3)")
    axes.tick_params(axis="y", labelsize=7)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


def _sum_up(results: Mapping[str, Any]) -> Iterator[str]:
    """Yields how many goals are met, and which are not."""
    benches = results["benches"]
    goals = [
        (f"{name}: {ratio['name']}", ratio)
        for name, bench in benches.items()
        for ratio in bench["ratios"]
        if "met" in ratio
    ]
    missed = [(name, ratio) for name, ratio in goals if not ratio["met"]]
    minutes = sum(bench["secs"] for bench in benches.values()) / 60
    yield (
        f"{len(goals) - len(missed)} of {len(goals)} goals are met; all that was "
        f"measured took {minutes:.0f} minutes."
    )
    if missed:
        yield from ("", "| not met | median | goal |", "|---|---:|---:|")
    for name, ratio in missed:
        yield f"| {name} | {_say(ratio['median'])} | {_goal(ratio)} |"


def _part_of_goal(ratio: Mapping[str, float]) -> float:
    if "at_least" in ratio:
        return ratio["median"] / ratio["at_least"]
    return ratio["at_most"] / max(ratio["median"], 1e-9)


def _ratio_row(ratio: Mapping[str, Any]) -> str:
    met = ("met" if ratio["met"] else "**no**") if "met" in ratio else ""
    values = f"{_say(ratio['median'])} | {_spread(ratio)}"
    return f"| {ratio['name']} | {values} | {_goal(ratio)} | {met} |"


def _goal(ratio: Mapping[str, Any]) -> str:
    for key, sign in (("at_least", "≥"), ("at_most", "≤")):
        if key in ratio:
            return f"{sign} {ratio[key]:g}"
    return ""


def _spread(entry: Mapping[str, float]) -> str:
    return f"{_say(entry['low'])} to {_say(entry['high'])}"


def _say(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
