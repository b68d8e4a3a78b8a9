"""The page of a study: its tables and its picture, and how they were made."""

import csv
import io
import pathlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments import study
from rlcomponents.evaluation import suite_origins, suite_tables
from rlcomponents.runs import atomic_files, curves, metrics, run_folder

CURVES = "curves.svg"
"""Name of the picture."""

PICTURE = f"![Curves]({CURVES})"
"""The same, in table.md."""


def evaluations(path: pathlib.Path) -> list[metrics.Row]:
    """Returns the evaluations of a run, in order; see `EVALUATION_COLUMNS`."""
    return metrics.MetricsFile(run_folder.RunFolder(path).evaluation_csv).read_new()


def mean_with_interval(
    values: Sequence[float],
) -> tuple[float, float | None, float | None]:
    """Returns the mean over runs, and low and high of its 95 % interval.

    Args:
        values: One of each run. A single run has no interval.
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None, None
    low, high = curves.interval(np.array(values, np.float64)[:, np.newaxis])[:, 0]
    return mean, float(low), float(high)


def interval_text(mean: float, low: float | None, high: float | None) -> str:
    """Returns what `mean_with_interval` did, as in a table."""
    return f"{mean:.2f}" if low is None else f"{mean:.2f} ({low:.2f} to {high:.2f})"


def write_page(
    made: study.Study, title: str, parts: Sequence[str], *, runs: Iterable[pathlib.Path]
) -> None:
    """Writes table.md: the title, how it was made, and what it says.

    Args:
        made: Where, and what was typed.
        title: Its first line.
        parts: Tables and paragraphs.
        runs: Folders of those which the page is about.
    """
    paths = list(runs)
    seeds = {run_folder.RunFolder(path).read_config()["seed"] for path in paths}
    page = [
        f"# {title}",
        f"    {made.command}",
        suite_origins.describe(paths),
        *parts,
        suite_origins.seeds(seeds),
    ]
    made.out.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(page) + "\n"
    atomic_files.write_bytes(made.out / suite_tables.MARKDOWN, text.encode())


def write_csv(made: study.Study, records: Sequence[Mapping[str, Any]]) -> None:
    """Writes table.csv, with ten digits of each number.

    Args:
        made: Where.
        records: Rows, of which the first names all columns.
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow(
            {
                name: f"{value:.10g}" if isinstance(value, float) else value
                for name, value in record.items()
            }
        )
    made.out.mkdir(parents=True, exist_ok=True)
    atomic_files.write_bytes(made.out / suite_tables.CSV, buffer.getvalue().encode())


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
