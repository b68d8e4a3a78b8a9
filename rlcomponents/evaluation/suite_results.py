"""What the runs of a suite came to: several games, each with several seeds.

Reference:
    Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical
    Precipice": the interquartile mean over all runs, and its interval by a bootstrap
    that is stratified by game. https://arxiv.org/abs/2108.13264
"""

import datetime
import importlib.util
import math
import pathlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlcomponents import extras
from rlcomponents.evaluation import normalisation, score_tables
from rlcomponents.runs import metrics, run_folder, summary

_NUM_BOOTSTRAPS = 2_000

_LAST_MILLION_FRAMES = 4.9  # Of the published curves on MinAtar.


class Run(NamedTuple):
    """One run of a suite, whether it has begun or not.

    Attributes:
        config: Its settings, with `environment` and `seed`.
        path: Its folder.
    """

    config: Mapping[str, Any]
    path: pathlib.Path


class Result(NamedTuple):
    """What one run came to.

    Attributes:
        final_return: Mean return of the last evaluation.
        best_return: That of the best evaluation, the last included.
        episodes: Training episodes.
        agent_steps: Of all actors together.
        wall_secs: Of training.
    """

    final_return: float
    best_return: float
    episodes: float
    agent_steps: float
    wall_secs: float


class Estimate(NamedTuple):
    """A mean over seeds, and its standard error; None for a single seed.

    Attributes:
        mean: Over seeds.
        standard_error: Of that mean; None for a single seed.
    """

    mean: float
    standard_error: float | None


class Row(NamedTuple):
    """What the runs of one game came to.

    Attributes:
        environment: The game.
        num_seeds: Of the suite.
        num_complete: How many of them are complete. The others are in none of the
            numbers; 0: there are no numbers yet.
        final: Return of the last evaluation.
        best: That of the best evaluation of each run.
        episodes: Mean of the runs.
        agent_steps: Mean of the runs.
        wall_secs: Mean of the runs.
        percent: Final returns, normalised, of each run. Empty where no scale is known.
    """

    environment: str
    num_seeds: int
    num_complete: int
    final: Estimate | None = None
    best: Estimate | None = None
    episodes: float | None = None
    agent_steps: float | None = None
    wall_secs: float | None = None
    percent: Sequence[float] = ()


class Aggregate(NamedTuple):
    """Normalised scores of several games, in percent.

    Attributes:
        games: Environments with all their seeds, and a scale.
        mean: Over games, of the means over seeds.
        median: The same.
        iqm: Mean of the middle half of all runs. None below two games or two seeds.
        interval: Low and high of its 95 % interval.
    """

    games: Sequence[str]
    mean: float
    median: float
    iqm: float | None = None
    interval: tuple[float, float] | None = None


def is_complete(path: pathlib.Path) -> bool:
    """Whether a run took all its steps, and has had its last evaluation."""
    summary_json = run_folder.RunFolder(path).summary_json
    if not summary_json.exists():
        return False
    return summary.read(summary_json).reason == summary.MAX_STEPS


def dates(paths: Iterable[pathlib.Path]) -> str:
    """Returns the days of the last evaluations of runs, in words, in local time.

    Args:
        paths: Folders of runs. Those without evaluations have no day.
    """
    rows = (metrics.read_last(run_folder.RunFolder(x).evaluation_csv) for x in paths)
    days = sorted(
        datetime.date.fromtimestamp(metrics.number(row, "time_secs")).isoformat()
        for row in rows
        if row.get("time_secs")
    )
    return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))


def read(path: pathlib.Path) -> Result:
    """Reads what a complete run came to.

    Raises:
        ValueError: Its files have no evaluation, or cannot be read.
    """
    folder = run_folder.RunFolder(path)
    ending = summary.read(folder.summary_json)
    returns = [
        metrics.number(row, "mean_return")
        for row in metrics.MetricsFile(folder.evaluation_csv).read_new()
    ]
    if not returns:
        raise ValueError(
            f"{path} is a complete run without an evaluation in {folder.evaluation_csv}"
            ": remove the folder, and start the suite again."
        )
    return Result(
        final_return=returns[-1],
        best_return=max(returns),
        episodes=ending.episodes,
        agent_steps=ending.agent_steps,
        wall_secs=ending.wall_secs or 0.0,
    )


def rows(runs: Sequence[Run]) -> list[Row]:
    """Returns a row for each game, in the order of the runs.

    Raises:
        ValueError: As of `read`.
    """
    by_game: dict[str, list[Run]] = {}
    for run in runs:
        by_game.setdefault(run.config["environment"], []).append(run)
    return [_row(environment, group) for environment, group in by_game.items()]


def normalised(config: Mapping[str, Any], score: float) -> float | None:
    """Returns a score in percent of what is known of the game.

    On Atari 0 is random play and 100 a human. On MinAtar, where no human is known, 0 is
    a score of 0, and 100 the published DQN after 4.9 million frames.

    Args:
        config: Settings of the run, which say the game and how it is evaluated.
        score: Mean raw return.

    Returns:
        None where no scale is known.
    """
    environment = config["environment"]
    suite, _, game = environment.partition(":")
    if suite == "minatar":
        dqn = score_tables.minatar_curves()["DQN"][game]
        return 100.0 * score / dqn[_LAST_MILLION_FRAMES]
    starts = "noop_starts" if has_published_protocol(config) else None
    return normalisation.human_normalised(environment, score, starts=starts)


def has_published_protocol(config: Mapping[str, Any]) -> bool:
    """Whether a run's last evaluation is the null-op protocol of DQN and Gorila.

    That is on Atari: 30 games that begin with up to 30 null-ops, cut after 18,000
    frames, without sticky actions, with 5 % random actions where the agent explores.
    """
    return (
        config["environment"].startswith("atari:")
        and config["final_evaluation_episodes"] == 30
        and config["max_evaluation_frames"] == 18_000
        and not config["sticky_action_probability"]
        and config.get("evaluation_epsilon", 0.05) == 0.05
    )


def check_packages(num_games: int, num_seeds: int) -> None:
    """Raises ImportError where `aggregate` would lack a package."""
    is_needed = num_games >= 2 and num_seeds >= 2
    if is_needed and importlib.util.find_spec("rliable") is None:
        raise ModuleNotFoundError(
            "Aggregates over games and seeds need the package 'rliable': "
            f"{extras.install('results')}.",
            name="rliable",
        )


def aggregate(table: Sequence[Row]) -> Aggregate | None:
    """Sums up the games that have all their seeds, and a scale.

    Returns:
        None where there are fewer than two.
    """
    games = [row for row in table if len(row.percent) == row.num_seeds]
    if len(games) < 2:
        return None
    scores = np.array([row.percent for row in games]).T  # [num_seeds, num_games]
    means = scores.mean(axis=0)
    result = Aggregate(
        [row.environment for row in games],
        float(means.mean()),
        float(np.median(means)),
    )
    if len(scores) < 2:
        return result
    iqm, interval = _interquartile_mean(scores)
    return result._replace(iqm=iqm, interval=interval)


def _row(environment: str, runs: Sequence[Run]) -> Row:
    results = [read(run.path) for run in runs if is_complete(run.path)]
    row = Row(environment, len(runs), len(results))
    if not results:
        return row
    percent = [normalised(runs[0].config, result.final_return) for result in results]
    return row._replace(
        final=_estimate([result.final_return for result in results]),
        best=_estimate([result.best_return for result in results]),
        episodes=statistics.fmean(result.episodes for result in results),
        agent_steps=statistics.fmean(result.agent_steps for result in results),
        wall_secs=statistics.fmean(result.wall_secs for result in results),
        percent=[value for value in percent if value is not None],
    )


def _estimate(values: Sequence[float]) -> Estimate:
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, None)
    return Estimate(mean, statistics.stdev(values) / math.sqrt(len(values)))


def _interquartile_mean(scores: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Returns the mean of the middle half of `[num_seeds, num_games]`, and interval."""
    # Takes seconds to import, with what it draws pictures with.
    from rliable import library
    from rliable import metrics as rliable_metrics

    # It draws from NumPy's global generator, whatever `random_state` it is given.
    before = np.random.get_state()
    np.random.seed(0)
    try:
        points, intervals = library.get_interval_estimates(
            {"": scores},
            lambda sample: np.array([rliable_metrics.aggregate_iqm(sample)]),
            reps=_NUM_BOOTSTRAPS,
        )
    finally:
        np.random.set_state(before)
    low, high = intervals[""][:, 0]
    return float(points[""][0]), (float(low), float(high))
