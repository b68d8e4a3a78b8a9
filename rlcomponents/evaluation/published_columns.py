"""What papers print for the games of a suite, evaluated in the same way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcomponents.evaluation import score_tables, suite_results


class Column(NamedTuple):
    """What a paper prints of one agent.

    Attributes:
        agent: Its name.
        point: Of its learning curve, such as `1M` frames; empty where there is one
            score only.
        scores: Mean raw returns, by environment.
    """

    agent: str
    point: str
    scores: Mapping[str, float]


def find(runs: Sequence[suite_results.Run]) -> list[Column]:
    """Returns the columns that tell something about the games of these runs.

    Those of DQN and Gorila on Atari under null-op starts, if that is how the runs are
    evaluated; and those of MinAtar, at the end of the published curves and at their
    first point that is as long as the runs.
    """
    games = {run.config["environment"] for run in runs}
    columns = []
    if any(suite_results.has_published_protocol(run.config) for run in runs):
        for agent, scores in score_tables.published("noop_starts").agents.items():
            columns.append(_column(agent, "", "atari", scores, games))
    lengths = [
        run.config["max_steps"] / 1e6
        for run in runs
        if run.config["environment"].startswith("minatar:")
    ]
    if lengths:
        for agent, curves in score_tables.minatar_curves().items():
            for point in _points(curves, max(lengths)):
                scores = {
                    game: curve[point]
                    for game, curve in curves.items()
                    if point in curve
                }
                columns.append(_column(agent, f"{point:g}M", "minatar", scores, games))
    return [column for column in columns if column.scores]


def _points(
    curves: Mapping[str, Mapping[float, float]], million_frames: float
) -> list[float]:
    points = sorted({point for curve in curves.values() for point in curve})
    long_enough = [point for point in points if point >= million_frames]
    return sorted({*long_enough[:1], points[-1]})


def _column(
    agent: str,
    point: str,
    suite: str,
    scores: Mapping[str, float],
    games: Iterable[str],
) -> Column:
    named = {f"{suite}:{game}": score for game, score in scores.items()}
    return Column(
        agent, point, {game: named[game] for game in sorted(games) if game in named}
    )
