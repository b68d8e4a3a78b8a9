"""What all benchmarks share: rounds in turns, medians, goals, and one file of results.

Absolute numbers of a busy machine are noise. So each thing is measured beside what it
is compared with, in turns, and what counts is the median of the ratios of the rounds.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

RESULTS = pathlib.Path("build/benchmarks.json")

Call = Callable[[], object]
"""Something to be timed."""

_PACKAGES = ("tensorflow-cpu", "numpy", "ale-py", "dm-reverb", "dm-launchpad-nightly")
_PEERS = pathlib.Path(__file__).parents[1] / ".venv-peers"
_PEER_PACKAGES = ("pfrl", "stable-baselines3", "gymnasium", "torch")


class Options(NamedTuple):
    """Flags of a benchmark.

    Attributes:
        rounds: How often each thing is measured.
        quick: Whether to measure shortly: to see that it works, not how fast it is.
        json: File that the results are written to, each benchmark's in their place.
    """

    rounds: int
    quick: bool
    json: pathlib.Path


def parse_options(description: str | None, *, rounds: int) -> Options:
    """Parses the command line.

    Args:
        description: What the benchmark measures.
        rounds: Where `--rounds` is not given; with `--quick` it is 1.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, help=f"default: {rounds}")
    parser.add_argument("--quick", action="store_true", help="see that it works")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS)
    given = parser.parse_args()
    default = 1 if given.quick else rounds
    return Options(given.rounds or default, given.quick, given.json)


def start_as_a_node() -> None:
    """Starts this process again, for what the C library reads only as one starts.

    Once: when `os.environ` has what nodes have, and this process was begun without.
    """
    if b"MALLOC_" not in pathlib.Path("/proc/self/environ").read_bytes():
        os.execv(sys.executable, [sys.executable, *sys.argv])


def interleave(
    measures: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """Measures each thing once a round; what comes first changes with the round."""
    names = list(measures)
    values: dict[str, list[float]] = {name: [] for name in names}
    for index in range(rounds):
        first = index % len(names)
        for name in names[first:] + names[:first]:
            values[name].append(measures[name]())
    return values


def fastest_secs(function: Call, *, repeats: int) -> float:
    """Returns the CPU seconds of the fastest call, after one that does not count."""
    return _fastest(function, time.process_time, repeats)


def fastest_wall_secs(function: Call, *, repeats: int) -> float:
    """Returns the seconds of the fastest call, after one that does not count."""
    return _fastest(function, time.perf_counter, repeats)


def ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Returns the ratio of each round."""
    return [value / other for value, other in zip(values, others, strict=True)]


def best(values: Mapping[str, Sequence[float]], names: Iterable[str]) -> str:
    """Returns which of the names has the largest median."""
    return max(names, key=lambda name: statistics.median(values[name]))


class Report:
    """Prints the results of one benchmark while they come, and keeps them for JSON."""

    def __init__(self, bench: str, options: Options) -> None:
        """Begins the report.

        Args:
            bench: Name of the benchmark, for its place in the file.
            options: Of the command line.
        """
        self._bench = bench
        self._options = options
        self._load_before = os.getloadavg()
        self._start_secs = time.time()
        self._numbers: list[dict[str, Any]] = []
        self._ratios: list[dict[str, Any]] = []
        self._notes: list[str] = []

    def number(self, name: str, values: float | Sequence[float], unit: str) -> None:
        """Adds something measured: its median over the rounds."""
        entry = {"name": name, **_summarise(values), "unit": unit}
        self._numbers.append(entry)
        print(f"  {name:56}{_say(entry['median']):>12} {unit}", flush=True)

    def ratio(
        self,
        name: str,
        values: float | Sequence[float],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Adds a ratio, or what else has a goal, and says whether it is met.

        Args:
            name: What is compared with what.
            values: The ratio of each round; the median counts.
            at_least: The goal. Neither: there is none.
            at_most: The goal.
        """
        entry: dict[str, Any] = {"name": name, **_summarise(values)}
        words = ""
        for key, goal, factor in (("at_least", at_least, 1), ("at_most", at_most, -1)):
            if goal is not None:
                met = factor * entry["median"] >= factor * goal
                entry |= {key: goal, "met": met}
                sign = ">=" if factor > 0 else "<="
                words = f"goal {sign} {goal:g}: {'met' if met else 'NOT MET'}"
        self._ratios.append(entry)
        spread = f"({entry['low']:.2f} to {entry['high']:.2f})"
        print(f"  {name:56}{entry['median']:12.2f} {spread} {words}", flush=True)

    def note(self, sentence: str) -> None:
        """Adds what a reader has to know of the numbers."""
        self._notes.append(sentence)
        print(f"  {sentence}", flush=True)

    def write(self) -> None:
        """Writes the results into their place in the file."""
        path = self._options.json
        results = json.loads(path.read_text()) if path.exists() else {}
        results["machine"] = _describe_machine()
        results.setdefault("benches", {})[self._bench] = {
            "started": time.strftime("%F %T", time.localtime(self._start_secs)),
            "secs": round(time.time() - self._start_secs, 1),
            "rounds": self._options.rounds,
            "quick": self._options.quick,
            "load_before": round(self._load_before[0], 2),
            "load_after": round(os.getloadavg()[0], 2),
            "numbers": self._numbers,
            "ratios": self._ratios,
            "notes": self._notes,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1))


def _fastest(function: Call, clock: Callable[[], float], repeats: int) -> float:
    function()
    taken = []
    for _ in range(repeats):
        start = clock()
        function()
        taken.append(clock() - start)
    return min(taken)


def _summarise(values: float | Sequence[float]) -> dict[str, float]:
    if isinstance(values, (int, float)):
        values = [values]
    return {
        "median": float(statistics.median(values)),
        "low": float(min(values)),
        "high": float(max(values)),
    }


def _say(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _describe_machine() -> dict[str, Any]:
    cpus = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in cpus if "model name" in line]
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_bytes / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        "peers": _peer_versions(),
        "commit": commit,
    }


def _peer_versions() -> dict[str, str]:
    """Returns what the peers' environment holds of them; nothing without it."""
    paths = [str(path) for path in _PEERS.glob("lib/python*/site-packages")]
    found = {
        each.metadata["Name"]: each.version
        for each in importlib.metadata.distributions(path=paths)
    }
    return {name: found[name] for name in _PEER_PACKAGES if name in found}
