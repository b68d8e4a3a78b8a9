"""Learning curves of several runs: seeds of one agent as one line with an interval.

Reference:
    Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical
    Precipice": intervals by the percentile bootstrap. https://arxiv.org/abs/2108.13264
"""

import io
import json
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlcomponents.runs import atomic_files, curve, metrics, summary
from rlcomponents.runs import run_folder as run_folder_lib

AXES = {
    "agent_steps": "agent steps (all actors together)",
    "environment_frames": "environment frames",
    "updates": "updates (gradients)",
    "wall_secs": "wall time (seconds)",
}
"""What a curve can be drawn over, and how the axis is labelled."""

SUFFIXES = (".png", ".svg")
"""Of pictures."""

_NUM_POINTS = 101
_NUM_BOOTSTRAPS = 2_000
_NUM_SETTINGS_SHOWN = 3
_NOT_OF_THE_AGENT = ("agent", "environment", "seed")
_COLOURS = (
    "#1f5fa8", "#b5562b", "#2e8b57", "#7b4fa0", "#c9930a", "#3aa0b8", "#8a8f98",
)  # fmt: skip


class RunCurve(NamedTuple):
    """Evaluations of one run.

    Attributes:
        config: Settings of the run, with its `agent` and `environment`.
        positions: `[num_evaluations]`, rising; what they count is the caller's choice.
        returns: `[num_evaluations]` mean returns.
    """

    config: Mapping[str, Any]
    positions: np.ndarray
    returns: np.ndarray


class Band(NamedTuple):
    """Mean of several runs.

    Attributes:
        label: The agent, and what settings tell it from the others in the picture.
        num_runs: How many runs it is the mean of.
        positions: `[num_points]`.
        means: `[num_points]`.
        interval: `[2, num_points]`, low and high of the 95 % interval of the mean. None
            for a single run.
    """

    label: str
    num_runs: int
    positions: np.ndarray
    means: np.ndarray
    interval: np.ndarray | None


def read(path: str | pathlib.Path, over: str) -> RunCurve:
    """Reads the evaluations of a run that goes on, or has ended.

    Args:
        path: Folder of the run.
        over: One of `AXES`.

    Raises:
        ValueError: The folder holds no run, or one that was never evaluated; or there
            is no such axis.
    """
    if over not in AXES:
        raise ValueError(f"over is {over!r}: it must be one of {', '.join(AXES)}.")
    folder = run_folder_lib.RunFolder(path)
    config = folder.read_config()
    column, scale = over, 1.0
    if (
        over == "environment_frames"
    ):  # Evaluations count steps; a step's frames do not vary.
        column, scale = "agent_steps", _frames_per_step(folder)
    rows = curve.columns(folder.evaluation_csv, ("agent_steps", "mean_return", column))
    if not len(rows):
        raise ValueError(
            f"{folder.path} holds no evaluation yet: wait for the first, after "
            f"{config.get('evaluation_period_steps')} steps."
        )
    return RunCurve(config, rows[:, 2] * scale, rows[:, 1])


def bands(curves: Sequence[RunCurve], *, seed: int = 0) -> dict[str, list[Band]]:
    """Joins runs that differ in their seed only, and cuts them to their common stretch.

    Between evaluations returns are interpolated linearly. Runs without a stretch in
    common become one point: where the first of them ends, before which each keeps its
    first return, or in the middle of runs that have one evaluation each.

    Args:
        curves: Of runs, in any order.
        seed: Of the bootstrap.

    Returns:
        By environment, one band for each agent and settings.
    """
    by_environment: dict[str, dict[str, list[RunCurve]]] = {}
    for one in curves:
        environment = str(one.config.get("environment"))
        key = json.dumps({k: v for k, v in one.config.items() if k != "seed"})
        by_environment.setdefault(environment, {}).setdefault(key, []).append(one)
    return {
        environment: [
            _band(label, group, seed)
            for label, group in zip(
                _labels([group[0].config for group in groups.values()]),
                groups.values(),
                strict=True,
            )
        ]
        for environment, groups in by_environment.items()
    }


def interval(returns: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Returns the 95 % interval of the mean over runs, point by point.

    Args:
        returns: `[num_runs, num_points]`, of two runs at least.
        seed: Of the bootstrap.

    Returns:
        `[2, num_points]`.
    """
    # Takes a while to import.
    from scipy import stats

    found = stats.bootstrap(
        (returns,),
        np.mean,
        axis=0,
        n_resamples=_NUM_BOOTSTRAPS,
        confidence_level=0.95,
        method="percentile",
        random_state=seed,
    ).confidence_interval
    return np.stack([found.low, found.high])


def draw(
    path: pathlib.Path, by_environment: Mapping[str, Sequence[Band]], over: str
) -> None:
    """Draws a panel for each environment.

    Args:
        path: The picture: one of `SUFFIXES`. Replaced if it exists.
        by_environment: See `bands`.
        over: What the positions count.
    """
    from matplotlib import figure, layout_engine

    num_columns = min(3, len(by_environment))
    num_rows = math.ceil(len(by_environment) / num_columns)
    picture = figure.Figure(
        figsize=(max(8.0, 5.5 * num_columns), 4.5 * num_rows),
        dpi=150,
        layout=layout_engine.ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12),
    )
    for index, (environment, environment_bands) in enumerate(by_environment.items()):
        axes = picture.add_subplot(num_rows, num_columns, index + 1)
        for number, band in enumerate(environment_bands):
            _draw_band(axes, band, _COLOURS[number % len(_COLOURS)])
        axes.set_xlabel(AXES[over])
        curve.dress(axes, environment)
        axes.legend(frameon=False, loc="best", labelcolor=curve.INK)
    save_picture(picture, path)


def save_picture(picture: Any, path: pathlib.Path) -> None:
    """Replaces a picture by a figure; equal figures are equal files.

    Args:
        picture: The figure, of matplotlib.
        path: One of `SUFFIXES`, in a folder that exists.
    """
    import matplotlib

    kind = path.suffix[1:]
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "curves"}):  # Else names are random.
        metadata = {"Date": None} if kind == "svg" else None
        picture.savefig(buffer, format=kind, metadata=metadata)
    atomic_files.write_bytes(path, buffer.getvalue())


def _frames_per_step(folder: run_folder_lib.RunFolder) -> float:
    frames = curve.frames_per_step(metrics.read_last(folder.program_csv))
    if frames is None and folder.summary_json.exists():  # All that is kept of a run.
        ending = summary.read(folder.summary_json)
        if ending.agent_steps:
            frames = ending.environment_frames / ending.agent_steps
    if frames is None:
        raise ValueError(
            f"{folder.program_csv} counts no step yet: wait until the run has begun."
        )
    return frames


def _labels(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Agents; where one comes twice, with the settings that tell these apart."""
    labels = []
    for config in configs:
        agent = config.get("agent")
        alike = [other for other in configs if other.get("agent") == agent]
        different = [
            name
            for name in config
            if name not in _NOT_OF_THE_AGENT
            and any(other.get(name) != config[name] for other in alike)
        ]
        settings = [f"{name} {config[name]}" for name in different]
        more = len(settings) - _NUM_SETTINGS_SHOWN
        if more > 0:
            settings[_NUM_SETTINGS_SHOWN:] = [f"{more} more"]
        labels.append(", ".join([str(agent), *settings]))
    return labels


def _band(label: str, curves: Sequence[RunCurve], seed: int) -> Band:
    if len(curves) == 1:
        return Band(label, 1, curves[0].positions, curves[0].returns, None)
    start = max(one.positions[0] for one in curves)
    end = min(one.positions[-1] for one in curves)
    if start < end:
        positions = np.linspace(start, end, _NUM_POINTS)
    elif all(len(one.positions) == 1 for one in curves):
        positions = np.array([np.mean([one.positions[0] for one in curves])])
    else:
        positions = np.array([end])
    returns = np.stack(
        [np.interp(positions, one.positions, one.returns) for one in curves]
    )  # [num_runs, num_points]
    band_interval = interval(returns, seed=seed)
    return Band(label, len(curves), positions, returns.mean(axis=0), band_interval)


def _draw_band(axes: Any, band: Band, colour: str) -> None:
    runs = "1 run" if band.num_runs == 1 else f"{band.num_runs} runs, 95 % interval"
    axes.plot(
        band.positions,
        band.means,
        color=colour,
        linewidth=1.8,
        marker="." if len(band.positions) == 1 else None,
        label=f"{band.label} ({runs})",
    )
    if band.interval is not None and len(band.positions) == 1:
        axes.vlines(band.positions, *band.interval, color=colour, alpha=0.5)
    elif band.interval is not None:
        axes.fill_between(
            band.positions, *band.interval, color=colour, alpha=0.15, linewidth=0
        )
