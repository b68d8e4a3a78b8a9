"""Published scores, game by game, and how papers sum them up.

Reference:
    Nair et al. 2015 (Gorila): https://arxiv.org/abs/1507.04296.
    Mnih et al. 2016 (A3C), Tables 1 and S3: https://arxiv.org/abs/1602.01783.
    van Hasselt et al. 2015, equation 5 and Tables 1 and 2.
    Young and Tian 2019 (MinAtar), learning curves: https://arxiv.org/abs/1903.03176.
"""

import csv
import functools
import statistics
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

STARTS = HUMAN_STARTS, NOOP_STARTS = "human_starts", "noop_starts"
"""Episodes that begin where a human had come to, or after up to 30 null-ops."""

_NOT_AGENTS = ("game", "random", "human")

_RETURN_AFTER = "return_"

_VIDEO_PINBALL = "video_pinball"
VIDEO_PINBALL_RULES = ("signed", "random_is_zero", "left_out", "absolute")
"""What to do where random play beats the human; see `normalised`."""


class ScoreTable(NamedTuple):
    """Mean raw scores.

    Attributes:
        starts: One of `STARTS`.
        random: Of random play, by game.
        human: Of a human tester, by game.
        agents: By agent, then by game. An agent may lack games.
    """

    starts: str
    random: Mapping[str, float]
    human: Mapping[str, float]
    agents: Mapping[str, Mapping[str, float]]


class Aggregate(NamedTuple):
    """Human-normalised scores of many games as two numbers, in percent.

    Attributes:
        mean: Over games.
        median: Over games.
    """

    mean: float
    median: float


@functools.cache
def published(starts: str) -> ScoreTable:
    """Returns the published table: 57 games of human starts, 49 of null-op starts.

    Raises:
        ValueError: No such table.
    """
    if starts not in STARTS:
        raise ValueError(
            f"starts is {starts!r}: it must be one of {', '.join(STARTS)}."
        )
    rows = rows_of(f"atari_{starts}.csv")
    columns = {
        name: {row["game"]: float(row[name]) for row in rows if row[name]}
        for name in rows[0]
        if name != "game"
    }
    return ScoreTable(
        starts,
        columns["random"],
        columns["human"],
        {name: column for name, column in columns.items() if name not in _NOT_AGENTS},
    )


@functools.cache
def minatar_curves() -> Mapping[str, Mapping[str, Mapping[float, float]]]:
    """Returns published learning curves on MinAtar, read off a picture.

    Returns:
        Mean returns by agent, game, and millions of frames (of which each is a step).
    """
    curves: dict[str, dict[str, dict[float, float]]] = {}
    for row in rows_of("minatar_curves.csv"):
        points = curves.setdefault(row["agent"], {}).setdefault(row["game"], {})
        for name, text in row.items():
            if name.startswith(_RETURN_AFTER) and text:
                million_frames = name[len(_RETURN_AFTER) :].removesuffix("M")
                points[float(million_frames)] = float(text)
    return curves


def normalised(
    table: ScoreTable, scores: Mapping[str, float], *, video_pinball: str
) -> dict[str, float]:
    """Returns `100 * (score - random) / (human - random)` by game, in percent.

    Under human starts random play beats the human on Video Pinball, so that the formula
    turns the game upside down. Papers differ in what they do about it, mostly without
    saying so; each rule here reproduces some of their printed sums.

    Args:
        table: Gives random and human play.
        scores: Mean raw scores by game, of games that the table has.
        video_pinball: `signed`: the formula as it is (Mnih et al. 2016, Table 1, rows
            DQN and Gorila). `random_is_zero`: as if random play scored 0 there (all
            other rows of that table). `left_out`: without the game (the mean of Gorila
            in van Hasselt et al. 2015). `absolute`: over |human - random| (the median
            of the same).

    Raises:
        ValueError: An unknown rule, or a game that the table lacks.
    """
    if video_pinball not in VIDEO_PINBALL_RULES:
        raise ValueError(
            f"video_pinball is {video_pinball!r}: it must be one of "
            f"{', '.join(VIDEO_PINBALL_RULES)}."
        )
    unknown = sorted(scores.keys() - table.human.keys())
    if unknown:
        raise ValueError(
            f"The table of {table.starts} has no {', '.join(unknown)}: leave them out."
        )
    percent = {}
    for game, score in scores.items():
        random, human = table.random[game], table.human[game]
        if game == _VIDEO_PINBALL and video_pinball == "left_out":
            continue
        if game == _VIDEO_PINBALL and video_pinball == "random_is_zero":
            random = 0.0
        span = human - random
        if game == _VIDEO_PINBALL and video_pinball == "absolute":
            span = abs(span)
        percent[game] = 100.0 * (score - random) / span
    return percent


def aggregate(percent: Mapping[str, float]) -> Aggregate:
    """Sums up normalised scores by game, as returned by `normalised`."""
    values = list(percent.values())
    return Aggregate(statistics.fmean(values), statistics.median(values))


def rows_of(name: str) -> list[dict[str, str]]:
    """Returns the rows of a file of the package's data, by column."""
    data = resources.files("rlcomponents.evaluation").joinpath("data")
    lines = data.joinpath(name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
