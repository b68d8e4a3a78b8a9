"""curve.png: the returns of a run over its agent steps."""

import io
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlcomponents.runs import atomic_files, metrics
from rlcomponents.runs import run_folder as run_folder_lib

_TRAINING, _EVALUATION, _RANDOM = "#9aa5b1", "#1f5fa8", "#b5562b"
INK = "#333333"
"""Colour of all words."""


def plot(
    run_folder: run_folder_lib.RunFolder, *, random_return: float | None = None
) -> pathlib.Path:
    """Draws evaluation.csv (mean and standard error) over the training return.

    Works for a run of any length, also of none: the figure then says so.

    Args:
        run_folder: The run. Where its config.json names no agent or environment, the
            folder's name is the title.
        random_return: Mean return of the random policy, drawn as a level to beat.

    Returns:
        The path of the picture.
    """
    # Takes a second to import; the figure is made without pyplot, hence always by Agg.
    from matplotlib import figure, layout_engine

    evaluation = columns(
        run_folder.evaluation_csv, ("agent_steps", "mean_return", "standard_error")
    )
    training = columns(run_folder.program_csv, ("agent_steps", "train_return"))

    picture = figure.Figure(
        figsize=(8, 4.5),
        dpi=150,
        layout=layout_engine.ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12),
    )
    axes = picture.add_subplot()
    if len(training):
        axes.plot(
            *training.T,
            color=_TRAINING,
            linewidth=1.2,
            marker="." if len(training) == 1 else None,
            label="training (mean of the last episodes)",
        )
    if len(evaluation):
        _draw_evaluation(axes, *evaluation.T)
    if random_return is not None:
        axes.axhline(
            random_return,
            color=_RANDOM,
            linewidth=1.2,
            linestyle=(0, (5, 3)),
            label=f"random policy ({random_return:.3g})",
        )
    missing = [
        words
        for words, rows in (("evaluation", evaluation), ("training episode", training))
        if not len(rows)
    ]
    if missing:
        axes.set_title(
            f"no {' and no '.join(missing)} was recorded",
            loc="right",
            color=_RANDOM,
            size="medium",
            pad=10,
        )

    axes.set_xlabel("agent steps (all actors together)")
    dress(axes, _title(run_folder))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, loc="best", labelcolor=INK)

    buffer = io.BytesIO()
    picture.savefig(buffer, format="png")
    atomic_files.write_bytes(run_folder.curve_png, buffer.getvalue())
    return run_folder.curve_png


def dress(axes: Any, title: str) -> None:
    """Gives axes of returns the look that all our pictures have."""
    from matplotlib import ticker

    axes.set_title(title, loc="left", color=INK, weight="bold", pad=10)
    axes.set_ylabel("return (raw score of an episode)", color=INK)
    axes.xaxis.label.set_color(INK)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator("auto", integer=True))
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=" "))
    axes.grid(color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#b8c0c8")


def columns(path: pathlib.Path, names: tuple[str, ...]) -> np.ndarray:
    """Reads `[num_rows, len(names)]` float64; rows without the first two are left out.

    A run that was resumed from a checkpoint goes through some steps a second time; the
    rows of the first time are left out.
    """
    return columns_of(metrics.MetricsFile(path).read_new(), names)


def columns_of(all_rows: Sequence[metrics.Row], names: tuple[str, ...]) -> np.ndarray:
    """Returns the same of rows that were read before."""
    rows = []
    first_step_after = math.inf
    for row in reversed(all_rows):
        fields = [row[name] for name in names]
        values = [field if isinstance(field, float) else math.nan for field in fields]
        if math.isnan(values[0]) or math.isnan(values[1]):
            continue
        if values[0] <= first_step_after:
            first_step_after = values[0]
            rows.append(values)
    return np.array(rows[::-1], np.float64).reshape(-1, len(names))


def frames_per_step(row: metrics.Row) -> float | None:
    """Returns environment frames of an agent step, which do not vary in a run.

    Evaluations count steps only.

    Args:
        row: Of `program.csv`.

    Returns:
        None where it counts no step yet.
    """
    steps = metrics.number(row, "agent_steps")
    return metrics.number(row, "environment_frames") / steps if steps else None


def _draw_evaluation(
    axes: Any, steps: np.ndarray, means: np.ndarray, errors: np.ndarray
) -> None:
    errors = np.nan_to_num(errors)  # One episode has no standard error.
    axes.errorbar(
        steps,
        means,
        yerr=errors,
        color=_EVALUATION,
        linewidth=2,
        marker="o",
        markersize=5,
        capsize=3,
        elinewidth=1.2,
        label="evaluation (mean ± standard error)",
    )
    axes.fill_between(
        steps,
        means - errors,
        means + errors,
        color=_EVALUATION,
        alpha=0.15,
        linewidth=0,
    )
    axes.annotate(
        f"{means[-1]:.3g}",
        (steps[-1], means[-1]),
        xytext=(8, 0),
        textcoords="offset points",
        verticalalignment="center",
        color=_EVALUATION,
        weight="bold",
    )


def _title(run_folder: run_folder_lib.RunFolder) -> str:
    config = run_folder.read_config()
    if "agent" in config and "environment" in config:
        return f"{config['agent']} on {config['environment']}"
    return run_folder.path.name
