"""What papers print for the games of a suite, as they evaluated them."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcomponents.evaluation import score_tables, suite_results

_A3C = ("a3c_ff_1day", "a3c_ff", "a3c_lstm")


class Column(NamedTuple):
    """What a paper prints of one agent.

    Attributes:
        agent: Its name.
        point: Of its learning curve, such as `1M` frames; empty where there is one
            score only.
        starts: Where its games began, one of `score_tables.STARTS`; empty on MinAtar,
            where all begin alike.
        scores: Mean raw returns, by environment.
    """

    agent: str
    point: str
    starts: str
    scores: Mapping[str, float]


class Sum(NamedTuple):
    """A row below those of the games, in percent.

    Attributes:
        name: `mean`, `median` or `iqm`.
        percent: Ours.
        interval: Low and high of its 95 % interval, where there is one.
        published: By column; None where one lacks a game, or began its games elsewhere
            than these runs did.
    """

    name: str
    percent: float
    interval: tuple[float, float] | None
    published: list[float | None]


def find(runs: Sequence[suite_results.Run]) -> list[Column]:
    """Returns the columns that tell something about the games of these runs.

    On Atari those of DQN and Gorila under null-op starts, if that is how the runs are
    evaluated; and, without sticky actions, those of A3C, which was published under
    human starts only: as training evaluates no run. On MinAtar those at the end of the
    published curves and at their first point that is as long as the runs.
    """
    games = {run.config["environment"] for run in runs}
    columns = []
    if any(suite_results.has_published_protocol(run.config) for run in runs):
        columns += _of_atari(score_tables.NOOP_STARTS, games)
    if not any(run.config["sticky_action_probability"] for run in runs):
        of_humans = _of_atari(score_tables.HUMAN_STARTS, games)
        columns += [column for column in of_humans if column.agent in _A3C]
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
                columns.append(_column(agent, f"{point:g}M", "", scores, games))
    return [column for column in columns if column.scores]


def sums(
    total: suite_results.Aggregate,
    columns: Iterable[Column],
    runs: Iterable[suite_results.Run],
) -> list[Sum]:
    """Returns our normalised scores, summed up, with those of each column beside.

    Args:
        total: Ours.
        columns: See `find`.
        runs: All runs of the suite.
    """
    configs = {run.config["environment"]: run.config for run in runs}

    def of_column(
        column: Column, add_up: Callable[[list[float]], float]
    ) -> float | None:
        if column.starts == score_tables.HUMAN_STARTS:
            return None  # Normalised by another table.
        if not all(game in column.scores for game in total.games):
            return None  # Its sum would be one of other games.
        percent = [
            suite_results.normalised(configs[game], column.scores[game])
            for game in total.games
        ]
        return add_up([value for value in percent if value is not None])

    means = [of_column(column, statistics.fmean) for column in columns]
    medians = [of_column(column, statistics.median) for column in columns]
    found = [
        Sum("mean", total.mean, None, means),
        Sum("median", total.median, None, medians),
    ]
    if total.iqm is not None:
        found.append(Sum("iqm", total.iqm, total.interval, [None for _ in columns]))
    return found


def _of_atari(starts: str, games: Iterable[str]) -> list[Column]:
    agents = score_tables.published(starts).agents
    return [
        _column(agent, "", starts, scores, games) for agent, scores in agents.items()
    ]


def _points(
    curves: Mapping[str, Mapping[float, float]], million_frames: float
) -> list[float]:
    points = sorted({point for curve in curves.values() for point in curve})
    long_enough = [point for point in points if point >= million_frames]
    return sorted({*long_enough[:1], points[-1]})


def _column(
    agent: str,
    point: str,
    starts: str,
    scores: Mapping[str, float],
    games: Iterable[str],
) -> Column:
    suite = "atari" if starts else "minatar"
    named = {f"{suite}:{game}": score for game, score in scores.items()}
    found = {game: named[game] for game in sorted(games) if game in named}
    return Column(agent, point, starts, found)
