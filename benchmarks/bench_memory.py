"""Measures the memory of whole programs: node by node, and all of them together.

Gorila DQN with two bundles, and A3C with two workers, both on Pong, while they learn.
Beside them a process that has imported TensorFlow, and nothing else. There is no goal.

    resident    what a process has in memory; what processes share counts for each
    PSS         the same, but what n processes share counts 1/n for each of them: these
                add up to what the program takes

Most of a node is TensorFlow. What grows is replay: here it keeps 10,000 transitions,
and holds as many as its bundle has come to (7.1 KB each).

    python benchmarks/bench_memory.py         (about a minute)
"""

import subprocess
import sys
from collections.abc import Mapping

import contenders
import measuring
import programs
import psutil

from rlcomponents.runs import node_table, run_folder

PROGRAMS: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "Gorila, 2 bundles": (
        "launch/gorila_dqn.py",
        "bundle",
        {"num_bundles": 2, "max_replay_items": 10_000, "min_replay_items": 1_000},
    ),
    "A3C, 2 workers": ("launch/a3c.py", "worker", {"num_workers": 2}),
}
IMPORT = "import sys, tensorflow; print(flush=True); sys.stdin.read()"
BARE = "import tensorflow"
MEGABYTE = 1_000_000


def main() -> None:
    """Prints megabytes."""
    options = measuring.parse_options(__doc__, rounds=3)
    report = measuring.Report("memory", options)
    wholes = {}
    for name, (script, workers, flags) in PROGRAMS.items():
        # One after the other: else they would share TensorFlow's code, and its PSS.
        with contenders.Arena(secs=3.0) as arena:
            contender = arena.add_ours(
                name,
                script,
                {"environment": "atari:pong", **flags},
                workers=workers,
                num_workers=2,
            )
            arena.rounds(options.rounds)  # What is made at first use is there then.
            wholes[name] = report_program(report, name, contender)
    bare = report_bare_import(report)
    for name, whole in wholes.items():
        report.ratio(f"{name} / one bare {BARE}, PSS", whole / bare)
    report.write()


def report_program(
    report: measuring.Report, name: str, contender: programs.Contender
) -> float:
    """Reports each process of a program; returns megabytes (PSS) of the whole."""
    print(name)
    folder = run_folder.RunFolder(contender.folder / "run")
    names = {row.pid: row.name for row in node_table.read(folder.nodes_json)}
    processes = contender.processes()
    names[processes[0].pid] = "launcher"
    used = {
        names.get(process.pid, process.name()): megabytes(process)
        for process in processes
    }
    used["all"] = tuple(map(sum, zip(*used.values(), strict=True)))
    for node, (resident, proportional) in used.items():
        report.number(f"{name}, {node}: resident", resident, "MB")
        report.number(f"{name}, {node}: PSS", proportional, "MB")
    return used["all"][1]


def report_bare_import(report: measuring.Report) -> float:
    """Reports a process that has imported TensorFlow; returns megabytes (PSS)."""
    with subprocess.Popen(
        [sys.executable, "-c", IMPORT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        resident, proportional = megabytes(psutil.Process(process.pid))
        process.communicate()
    print(f"One process with {BARE}")
    report.number(f"{BARE}: resident", resident, "MB")
    report.number(f"{BARE}: PSS", proportional, "MB")
    return proportional


def megabytes(process: psutil.Process) -> tuple[float, float]:
    """Returns what a process has in memory: resident, and its proportional share."""
    used = process.memory_full_info()
    return used.rss / MEGABYTE, used.pss / MEGABYTE


if __name__ == "__main__":
    main()
