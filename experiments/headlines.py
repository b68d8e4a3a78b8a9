"""The papers' headline questions, answered by the suites of `minatar_suites.py`.

    python experiments/headlines.py
    python experiments/headlines.py --suites=results/minatar_suites

On how many games is Gorila above DQN, at equal steps and at equal wall time? Is A3C,
at equal wall time? What do replay and asynchronous workers cost in memory and CPU?

Reference:
    Nair et al. 2015, abstract (Gorila above DQN on 41 of 49 games).
    https://arxiv.org/abs/1507.04296
"""

import dataclasses
import pathlib
import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments import costs, minatar_suites, pages, study
from launch import command_line
from rlcomponents.evaluation import score_tables, suite_results
from rlcomponents.launching import launcher
from rlcomponents.runs import curves, run_folder, summary

_AT = {"agent_steps": "agent steps", "wall_secs": "seconds"}

Suites = Mapping[str, Mapping[str, Sequence[pathlib.Path]]]
"""Folders of complete runs, by suite and game."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadlinesFlags:
    """Flags of this script.

    Attributes:
        suites: Folder of the suites, each of them in one of its own.
        out: Folder of the table.
    """

    suites: str = "docs/results/minatar_suites"
    out: str = "docs/results/headlines"


class Question(NamedTuple):
    """Two agents, and what is equal.

    Attributes:
        agent: Name of a suite.
        baseline: Name of the other.
        over: `agent_steps` or `wall_secs`.
    """

    agent: str
    baseline: str
    over: str


QUESTIONS = (
    Question("gorila_dqn", "dqn", "agent_steps"),
    Question("gorila_dqn", "dqn", "wall_secs"),
    Question("a3c", "dqn", "agent_steps"),
    Question("a3c", "dqn", "wall_secs"),
    Question("n_step_q", "one_step_q", "wall_secs"),
)
"""In the order of the page."""


def main(argv: Sequence[str]) -> int:
    """Writes the page; returns the exit code."""
    flags, _, _ = command_line.parse(argv, str(__doc__), run_class=HeadlinesFlags)
    with command_line.bad_input_refused():
        suites = find(pathlib.Path(flags.suites))
        if not suites:
            names = ", ".join(minatar_suites.SUITES)
            raise ValueError(
                f"{flags.suites} holds no complete run of {names}: run "
                "experiments/minatar_suites.py, or give --suites."
            )
        command = shlex.join(["python", "experiments/headlines.py", *argv])
        out = pathlib.Path(flags.out)
        study.prepare_out(out)
        with command_line.unwritable_refused(out):
            write(study.Study(out, pathlib.Path(flags.suites), command, (), 0), suites)
    print(f"Results: {out}")
    return 0


def find(folder: pathlib.Path) -> Suites:
    """Returns the suites with complete runs in a folder.

    Raises:
        ValueError: The files of a complete run cannot be read.
    """
    suites: dict[str, dict[str, list[pathlib.Path]]] = {}
    for name in minatar_suites.SUITES:
        for path in study.complete_runs(folder / name):
            suite_results.read(path)
            game = run_folder.RunFolder(path).read_config()["environment"]
            suites.setdefault(name, {}).setdefault(game, []).append(path)
    return suites


def compare(
    ours: Sequence[pathlib.Path], theirs: Sequence[pathlib.Path], over: str
) -> dict[str, Any]:
    """Compares two agents on one game, as far as all of the runs have come.

    Between evaluations returns are interpolated linearly; before the first
    evaluation they are its own.

    Args:
        ours: Folders of runs.
        theirs: The same of the baseline.
        over: `agent_steps` or `wall_secs`.

    Returns:
        `at`, the place where they are compared; `mean`, `low` and `high` of each; and
        `is_above`, whether our mean is the higher one.
    """
    both = [[curves.read(path, over) for path in paths] for paths in (ours, theirs)]
    at = min(float(run.positions[-1]) for runs in both for run in runs)
    record: dict[str, Any] = {"at": at}
    for name, runs in zip(("agent", "baseline"), both, strict=True):
        returns = [float(np.interp(at, run.positions, run.returns)) for run in runs]
        mean, low, high = pages.mean_with_interval(returns)
        record |= {f"{name}_mean": mean, f"{name}_low": low, f"{name}_high": high}
        record[f"{name}_runs"] = len(returns)
    record["is_above"] = record["agent_mean"] > record["baseline_mean"]
    return record


def answer(question: Question, suites: Suites) -> list[dict[str, Any]]:
    """Returns a comparison for each game that both suites have."""
    ours, theirs = suites[question.agent], suites[question.baseline]
    return [
        {
            **question._asdict(),
            "game": game,
            **compare(ours[game], theirs[game], question.over),
        }
        for game in ours
        if game in theirs
    ]


def write(made: study.Study, suites: Suites) -> None:
    """Writes table.md and table.csv."""
    records: list[dict[str, Any]] = []
    parts = [
        "Means over runs, with their 95 % intervals (bootstrap over runs), as far as "
        "all runs of both have come; between evaluations returns are interpolated, and "
        "a run that was not evaluated that early has its first evaluation there. "
        "Wall time is from the first step on, and has the evaluations in it, which DQN "
        "plays between its steps and the others beside them."
    ]
    for question in QUESTIONS:
        if question.agent not in suites or question.baseline not in suites:
            continue
        answers = answer(question, suites)
        if answers:
            records += answers
            parts += _part(question, answers)
    parts += _costs(suites)
    missing = [name for name in minatar_suites.SUITES if name not in suites]
    if missing:
        parts.append(f"Without complete runs, and left out: {', '.join(missing)}.")
    paths = [
        path for games in suites.values() for runs in games.values() for path in runs
    ]
    pages.write_page(made, "The papers' questions, on MinAtar", parts, runs=paths)
    if records:
        pages.write_csv(made, records)


def published_wins(starts: str) -> tuple[int, int]:
    """Returns on how many Atari games Gorila is above DQN, and of how many.

    Args:
        starts: One of `score_tables.STARTS`.
    """
    agents = score_tables.published(starts).agents
    gorila, dqn = agents["gorila"], agents["dqn"]
    games = gorila.keys() & dqn.keys()
    return sum(gorila[game] > dqn[game] for game in games), len(games)


def _part(question: Question, answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a heading, the answer in a sentence, and the games."""
    agent, baseline, over = question
    wins = sum(record["is_above"] for record in answers)
    clear = sum(_is_clear(record) for record in answers)
    equal = "equal steps" if over == "agent_steps" else "equal wall time"
    text = (
        f"{agent} is above {baseline} on {wins} of {len(answers)} games at {equal}; on "
        f"{clear} of {len(answers)} the intervals do not overlap."
    )
    if (agent, baseline) == ("gorila_dqn", "dqn"):
        counts = [published_wins(starts) for starts in score_tables.STARTS]
        text += (
            " Published on Atari, with 100 machines: {} of {} games under human "
            "starts, {} of {} under null-op starts.".format(*counts[0], *counts[1])
        )
    rows = [
        [
            record["game"],
            f"{record['at']:,.0f}",
            *(
                f"{pages.interval_text(*(record[f'{name}_{each}'] for each in _SHOWN))}"
                f", {record[f'{name}_runs']} runs"
                for name in ("agent", "baseline")
            ),
            "yes" if record["is_above"] else "no",
        ]
        for record in answers
    ]
    titles = ["game", f"at {_AT[over]}", agent, baseline, "above"]
    heading = f"## {agent} against {baseline}, at {equal}"
    return [heading, text, pages.markdown_table(titles, rows)]


_SHOWN = ("mean", "low", "high")


def _is_clear(record: Mapping[str, Any]) -> bool:
    """Whether the intervals do not overlap, whichever is above."""
    if record["agent_low"] is None or record["baseline_low"] is None:
        return False
    return bool(
        record["agent_low"] > record["baseline_high"]
        or record["baseline_low"] > record["agent_high"]
    )


def _costs(suites: Suites) -> list[str]:
    """Returns what memory and CPU the agents take, as far as that was measured."""
    rows, unmeasured = [], []
    for name, games in suites.items():
        paths = [path for runs in games.values() for path in runs]
        measured = [
            (found, summary.read(run_folder.RunFolder(path).summary_json))
            for path in paths
            if (found := costs.read(path)) is not None
        ]
        if not measured:
            unmeasured.append(name)
            continue
        memory = [
            run.peak_memory_bytes
            for run, _ in measured
            if run.peak_memory_bytes is not None
        ]
        cpu_secs = [run.cpu_secs / end.agent_steps for run, end in measured]
        speeds = [end.steps_per_sec or 0.0 for _, end in measured]
        rows.append(
            [
                name,
                f"{len(measured)}",
                f"{statistics.fmean(memory) / 1e6:,.0f}" if memory else "",
                f"{1e3 * statistics.fmean(cpu_secs):.2f}",
                f"{statistics.fmean(speeds):,.0f}",
            ]
        )
    if not rows:
        return ["Memory and CPU were not measured: experiments/minatar_suites.py does."]
    titles = [
        "agent",
        "runs",
        "memory at its peak, MB",
        "CPU milliseconds an agent step",
        "agent steps a second",
    ]
    parts = [
        "## What an interaction costs",
        "Means over runs, of all processes of a run together. Memory is PSS: what is "
        "shared counts once. CPU is that of the whole run, its start and evaluations "
        "included.",
        pages.markdown_table(titles, rows),
    ]
    if unmeasured:
        parts.append(f"Not measured: {', '.join(unmeasured)}.")
    return parts


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
