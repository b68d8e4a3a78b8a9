"""The table of a suite, as markdown and CSV, beside the columns that papers print."""

import csv
import io
import itertools
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from rlcomponents.evaluation import (
    published_columns,
    score_tables,
    suite_origins,
    suite_results,
)
from rlcomponents.runs import atomic_files

MARKDOWN, CSV = "table.md", "table.csv"
"""Names of the files."""


class Provenance(NamedTuple):
    """How the runs are made.

    Attributes:
        agent: Its name.
        command: What was typed.
    """

    agent: str
    command: str


class _Table(NamedTuple):
    """All that is in the table."""

    runs: Sequence[suite_results.Run]
    rows: list[suite_results.Row]
    columns: list[published_columns.Column]
    num_games: int
    sums: list[published_columns.Sum]


def write(
    folder: pathlib.Path, runs: Sequence[suite_results.Run], provenance: Provenance
) -> None:
    """Replaces the table of a suite, of which any number of runs may be complete.

    Args:
        folder: Of the suite.
        runs: All of them.
        provenance: How they are made.

    Raises:
        ValueError: The files of a complete run cannot be read.
        ImportError: See `suite_results.check_packages`.
        OSError: The disk took no more.
    """
    rows = suite_results.rows(runs)
    columns = published_columns.find(runs)
    total = suite_results.aggregate(rows)
    sums = [] if total is None else published_columns.sums(total, columns, runs)
    num_games = 0 if total is None else len(total.games)
    table = _Table(runs, rows, columns, num_games, sums)
    markdown = _markdown(table, provenance)
    atomic_files.write_bytes(folder / MARKDOWN, markdown.encode())
    atomic_files.write_bytes(folder / CSV, _csv(table).encode())


# ---------------------------------------------------------------------------- CSV


def _csv(table: _Table) -> str:
    names = [
        "_".join(filter(None, ("published", column.agent, column.point, column.starts)))
        for column in table.columns
    ]
    buffer = io.StringIO()
    writer = csv.DictWriter(
        buffer, [*_CSV_COLUMNS, *names], restval="", lineterminator="\n"
    )
    writer.writeheader()
    for row in table.rows:
        record: dict[str, Any] = {
            "game": row.environment,
            "seeds": row.num_seeds,
            "seeds_complete": row.num_complete,
            "episodes": row.episodes,
            "agent_steps": row.agent_steps,
            "wall_secs": row.wall_secs,
        }
        if row.final and row.best:
            record["final_return"], record["final_standard_error"] = row.final
            record["best_return"], record["best_standard_error"] = row.best
        if row.percent:
            record["normalised_percent"] = statistics.fmean(row.percent)
        for name, column in zip(names, table.columns, strict=True):
            record[name] = column.scores.get(row.environment)
        writer.writerow({name: _digits(value) for name, value in record.items()})
    for each in table.sums:
        low, high = each.interval or (None, None)
        record = {
            "game": each.name,
            "normalised_percent": each.percent,
            "normalised_low": low,
            "normalised_high": high,
            **dict(zip(names, each.published, strict=True)),
        }
        writer.writerow({name: _digits(value) for name, value in record.items()})
    return buffer.getvalue()


_CSV_COLUMNS = (
    "game",
    "seeds",
    "seeds_complete",
    "final_return",
    "final_standard_error",
    "best_return",
    "best_standard_error",
    "normalised_percent",
    "normalised_low",
    "normalised_high",
    "episodes",
    "agent_steps",
    "wall_secs",
)


def _digits(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) else value


# ----------------------------------------------------------------------- markdown


def _markdown(table: _Table, provenance: Provenance) -> str:
    """Returns the page; columns of one published agent share one column here."""
    agents = [
        (title, list(columns))
        for title, columns in itertools.groupby(
            enumerate(table.columns), lambda item: (item[1].agent, item[1].starts)
        )
    ]
    titles = []
    for (agent, starts), columns in agents:
        points = " / ".join(column.point for _, column in columns)
        titles.append(", ".join(filter(None, (agent, points, _STARTS[starts]))))
    lines = [[*_TITLES, *titles], ["---" for _ in (*_TITLES, *titles)]]
    for row in table.rows:
        scores = [column.scores.get(row.environment) for column in table.columns]
        published = [
            " / ".join(_score(scores[index]) for index, _ in columns)
            for _, columns in agents
        ]
        lines.append([*_cells(row), *published])
    for each in table.sums:
        label = _SUM_TITLES[each.name].format(num_games=table.num_games)
        percent = f"{each.percent:.1f}"
        if each.interval is not None:
            percent += " ({:.1f} to {:.1f})".format(*each.interval)
        published = [
            " / ".join(_percent(each.published[index]) for index, _ in columns)
            for _, columns in agents
        ]
        if each.name == "iqm":  # Of single runs, which nobody has published.
            published = [""] * len(agents)
        blank = [""] * (len(_TITLES) - 5)
        lines.append([label, "", "", "", percent, *blank, *published])
    complete = [run.path for run in table.runs if suite_results.is_complete(run.path)]
    parts = [
        f"# {provenance.agent} on {suite_origins.counted(len(table.rows), 'game')}, "
        f"{suite_origins.counted(table.rows[0].num_seeds, 'seed')}",
        f"    {provenance.command}",
        suite_origins.describe(complete),
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines),
        *_notes(table),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


_TITLES = (
    "game",
    "seeds",
    "last evaluation",
    "best evaluation",
    "normalised, %",
    "episodes",
    "agent steps",
    "wall time, s",
)

_SUM_TITLES = {
    "mean": "mean of {num_games} games",
    "median": "median of {num_games} games",
    "iqm": "interquartile mean (95 % interval)",
}


def _cells(row: suite_results.Row) -> list[str]:
    seeds = f"{row.num_seeds}"
    if row.num_complete < row.num_seeds:
        seeds = f"{row.num_complete} of {row.num_seeds}"
    return [
        row.environment,
        seeds,
        _estimate(row.final),
        _estimate(row.best),
        f"{statistics.fmean(row.percent):.1f}" if row.percent else "",
        _count(row.episodes),
        _count(row.agent_steps),
        _count(row.wall_secs),
    ]


_STARTS = {
    "": "",
    score_tables.HUMAN_STARTS: "human starts",
    score_tables.NOOP_STARTS: "null-op starts",
}


def _notes(table: _Table) -> list[str]:
    games = sorted({run.config["final_evaluation_episodes"] for run in table.runs})
    seeds = {run.config["seed"] for run in table.runs}
    notes = [
        f"{suite_origins.seeds(seeds)} Evaluations: means over seeds, ± their "
        f"standard error; the last one of each run is {' or '.join(map(str, games))} "
        "games, and the best is the highest of all, so that it promises a little more "
        "than it holds. Episodes, agent steps and seconds are those of training, a run."
    ]
    suites = {run.config["environment"].partition(":")[0] for run in table.runs}
    if "atari" in suites:
        notes.append(
            "Normalised, on Atari: 0 is random play, 100 a human. Published under "
            "null-op starts: 30 games, 18,000 frames at most; there is no such column "
            "where these runs are evaluated otherwise. Published under human starts: "
            "from 100 points of human play, 108,000 frames at most with that play; "
            "these runs begin their games elsewhere, so compare no further than that."
        )
    if "minatar" in suites:
        notes.append(
            "Normalised, on MinAtar: 100 is the published DQN after 4.9 million "
            "frames, 0 a score of 0. Published: means of training episodes of 30 "
            "seeds, read off a picture (Young and Tian 2019), after so many frames."
        )
    if table.sums:
        notes.append(
            "Sums are of normalised scores, of games with all their seeds, and of "
            "published scores under the same starts; the interval is a bootstrap over "
            "seeds, stratified by game."
        )
    missing = [
        f"{run.config['environment']} with seed {run.config['seed']}"
        for run in table.runs
        if not suite_results.is_complete(run.path)
    ]
    if missing:
        notes.append(f"Not complete: {', '.join(missing)}.")
    return notes


def _estimate(estimate: suite_results.Estimate | None) -> str:
    if estimate is None:
        return ""
    if estimate.standard_error is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ± {estimate.standard_error:.2f}"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"
