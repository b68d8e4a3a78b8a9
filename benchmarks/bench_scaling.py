"""Measures how Gorila grows: 1, 2, 4, 8 and 16 bundles on this machine.

    python benchmarks/bench_scaling.py     (about ten minutes)

Each size is a program of its own, `launch/gorila_dqn.py` in processes, with two shards
and replay in the bundles' memory. When all bundles learn, it is watched for some
seconds: updates and staleness as the shards count them, CPU time of each kind of node.
What a core would have done for others meanwhile is noted as well.

Before that, what a bundle and a call to a shard cost alone. Everything goes into one
JSON file, from which `predict_scaling.py` makes its model.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import measuring
import programs
import psutil
import scaling_parts

from rlcomponents.launching import node_rows
from rlcomponents.runs import metrics, node_table, run_folder

RESULTS = pathlib.Path("build/scaling.json")
NUM_BUNDLES = (1, 2, 4, 8, 16)
GIB_PER_BUNDLE = 0.7
GAMES = ("minatar:breakout", "atari:pong")
FLAGS: Mapping[str, Any] = {
    "mode": "bundled",
    "replay": "memory",
    "num_parameter_shards": 2,
    "max_staleness_updates": 100,
    "max_steps": 50_000_000,
    "min_replay_items": 1_000,
    "max_replay_items": 10_000,
    "batch_size": 32,
    "initial_epsilon": 0.1,
    "final_epsilon": 0.1,
    "target_period_updates": 60_000,
    "replay_checkpoint_period_secs": None,
    "evaluation_period_steps": 40_000_000,
}
_SETTLE_SECS = 3.0
_QUIET_CORES = 0.1  # What else may be going on in a window that counts as quiet.
_MIN_UPDATES = 20  # Of each bundle: TensorFlow has traced then.


class Moment(NamedTuple):
    """How far a program and the machine are.

    Attributes:
        time_secs: Now.
        cpu_secs: Of the program's nodes, by group.
        machine_secs: CPU time of everything on this machine.
        memory_bytes: Resident, all nodes together.
    """

    time_secs: float
    cpu_secs: dict[str, float]
    machine_secs: float
    memory_bytes: int


def main() -> None:
    """Measures all sizes of all games, and writes them down after each."""
    options = _parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    secs = 3.0 if options.quick else 8.0
    num_windows = 1 if options.quick else 3
    results: dict[str, Any] = {
        "machine": measuring._describe_machine(),
        "started": time.strftime("%F %T"),
        "quick": options.quick,
        "load_before": os.getloadavg()[0],
        "games": {},
    }
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rlcomponents-scaling-"))
    try:
        print("A call to a shard, alone", flush=True)
        results["calls"] = scaling_parts.measure_calls(secs / 8)
        for game in options.games:
            print(f"{game}, a bundle alone", flush=True)
            flags = {**FLAGS, "environment": game}
            alone = scaling_parts.measure_bundle(flags, folder / "alone" / game, secs)
            points: list[dict[str, Any]] = []
            results["games"][game] = {"flags": flags, "alone": alone, "points": points}
            for number in options.bundles:
                if psutil.virtual_memory().available < number * GIB_PER_BUNDLE * 2**30:
                    print(f"{number} bundles of {game}: not enough memory here.")
                    continue
                points.append(
                    measure_program(flags, number, folder / "run", secs, num_windows)
                )
                print(describe(points[-1]), flush=True)
                results["load_after"] = os.getloadavg()[0]
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(results, indent=1))
    finally:
        shutil.rmtree(folder)


def measure_program(
    flags: Mapping[str, Any],
    num_bundles: int,
    folder: pathlib.Path,
    secs: float,
    num_windows: int,
) -> dict[str, Any]:
    """Runs a program of so many bundles and measures it.

    Args:
        flags: Settings of the launch script, but for the number of bundles.
        num_bundles: How many.
        folder: Does not exist; it is removed afterwards.
        secs: Of each window.
        num_windows: How many count: where others use the machine, up to twice as many
            are measured, and the quietest count.

    Returns:
        The median of those windows, and lowest and highest updates per second.
    """
    run = run_folder.RunFolder(folder / "run")
    settings = {**flags, "num_bundles": num_bundles, "lp_launch_type": "local_mp"}
    command = [sys.executable, "launch/gorila_dqn.py", f"--run_dir={run.path}"]
    command += [f"--{name}={_say(value)}" for name, value in settings.items()]
    program = programs.Contender(
        f"{num_bundles} bundles",
        [*command, "--quiet"],
        folder,
        "run/metrics/bundle-*.csv",
        min_updates=_MIN_UPDATES,
    )
    load = os.getloadavg()[0]
    try:
        start_secs = time.monotonic()
        program.start(num_bundles)
        warm_secs = time.monotonic() - start_secs
        program.resume()
        time.sleep(_SETTLE_SECS)
        windows, memory_bytes = _measure_windows(run, secs, num_windows)
    finally:
        program.end()
        shutil.rmtree(folder, ignore_errors=True)
    rates = [window["updates_per_sec"] for window in windows]
    return {
        "bundles": num_bundles,
        **{key: statistics.median(w[key] for w in windows) for key in windows[0]},
        "updates_per_sec_low": min(rates),
        "updates_per_sec_high": max(rates),
        "memory_gib": memory_bytes / 2**30,
        "warm_secs": warm_secs,
        "load_before": load,
    }


def look(run: run_folder.RunFolder) -> Moment:
    """Returns how far a program in processes is."""
    cpu_secs: dict[str, float] = {}
    memory_bytes = 0
    for node in node_table.read(run.nodes_json):
        if node.pid is not None:
            group, usage = node.name.split("/")[0], node_rows.usage_of(node.pid)
            cpu_secs[group] = cpu_secs.get(group, 0.0) + usage.cpu_secs
            memory_bytes += usage.memory_bytes
    times = psutil.cpu_times()
    machine_secs = sum(times) - times.idle - times.iowait - times.guest
    return Moment(time.time(), cpu_secs, machine_secs, memory_bytes)


def summarise(
    rows: Sequence[metrics.Row], before: Moment, after: Moment
) -> dict[str, float]:
    """Returns what a program did between two moments.

    Args:
        rows: Of the whole program.
        before: The first moment.
        after: The second.

    Raises:
        RuntimeError: There are fewer than two rows between them.
    """
    inside = [
        row
        for row in rows
        if before.time_secs <= metrics.number(row, "time_secs") <= after.time_secs
    ]
    if len(inside) < 2:
        raise RuntimeError(f"{len(inside)} rows in a window: measure for longer.")
    first, last = inside[0], inside[-1]

    def grown(column: str) -> float:
        return metrics.number(last, column) - metrics.number(first, column)

    def staleness_sum(row: metrics.Row) -> float:
        return metrics.number(row, "mean_staleness_updates") * metrics.number(
            row, "updates"
        )

    updates, stale = grown("updates"), grown("discarded_stale")
    updates_per_sec = updates / grown("time_secs")
    secs = after.time_secs - before.time_secs
    used_secs = {
        group: after.cpu_secs[group] - before.cpu_secs.get(group, 0.0)
        for group in after.cpu_secs
    }
    pushes = updates_per_sec * secs * (updates + stale) / updates
    others_secs = after.machine_secs - before.machine_secs - sum(used_secs.values())
    own = ("bundle", "parameters")
    return {
        "updates_per_sec": updates_per_sec,
        "agent_steps_per_sec": grown("agent_steps") / grown("time_secs"),
        "mean_staleness_updates": (staleness_sum(last) - staleness_sum(first))
        / updates,
        "discarded_fraction": stale / (updates + stale),
        "bundle_cpu_secs": used_secs["bundle"] / pushes,
        "shards_cpu_secs": used_secs["parameters"] / pushes,
        "other_nodes_cores": sum(
            value for group, value in used_secs.items() if group not in own
        )
        / secs,
        "others_cores": max(0.0, others_secs) / secs,
    }


def describe(point: Mapping[str, float]) -> str:
    """Returns one line about a size."""
    return (
        f"  {point['bundles']:3.0f} bundles: {point['updates_per_sec']:8.1f} updates/s "
        f"({point['updates_per_sec_low']:.1f} to {point['updates_per_sec_high']:.1f}), "
        f"staleness {point['mean_staleness_updates']:.2f}, "
        f"discarded {point['discarded_fraction']:.1%}, "
        f"{point['agent_steps_per_sec']:.0f} agent steps/s, CPU ms a gradient: bundle "
        f"{1e3 * point['bundle_cpu_secs']:.2f}, shards "
        f"{1e3 * point['shards_cpu_secs']:.2f}; others used "
        f"{point['others_cores']:.2f} cores; warm after {point['warm_secs']:.0f} s"
    )


def _measure_windows(
    run: run_folder.RunFolder, secs: float, num_windows: int
) -> tuple[list[dict[str, float]], int]:
    """Returns the quietest windows, and how much memory the program has."""
    rows: list[metrics.Row] = []
    file = metrics.MetricsFile(run.program_csv)
    windows: list[dict[str, float]] = []
    before = look(run)
    while len(windows) < 2 * num_windows:
        time.sleep(secs)
        after = look(run)
        rows += file.read_new()
        windows.append(summarise(rows, before, after))
        before = after
        quiet = [each for each in windows if each["others_cores"] <= _QUIET_CORES]
        if len(quiet) >= num_windows:
            break
    windows.sort(key=lambda each: each["others_cores"])
    return windows[:num_windows], before.memory_bytes


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="see that it works")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--bundles", nargs="+", type=int, default=NUM_BUNDLES)
    return parser.parse_args()


def _say(value: object) -> str:
    return "none" if value is None else str(value)


if __name__ == "__main__":
    main()
