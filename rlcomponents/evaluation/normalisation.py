"""Puts a score between random play and a human's.

Reference:
    van Hasselt et al. 2015, equation 5. https://arxiv.org/abs/1509.06461
"""

import functools

from rlcomponents.evaluation import score_tables


def human_normalised(
    environment_name: str, score: float, *, starts: str | None = None
) -> float | None:
    """Returns `100 * (score - random) / (human - random)`, in percent.

    Args:
        environment_name: `suite:name[:variant]`.
        score: Mean raw return.
        starts: One of `score_tables.STARTS`: by the table of that protocol, with random
            play as 0 on Video Pinball under human starts. None: by scores of games
            started with up to 30 no-op actions and cut after 108,000 frames.

    Returns:
        0 for random play, 100 for the human; None where no human score is known, which
        is everywhere but on the 57 usual Atari games.
    """
    suite, game = _split(environment_name)
    if suite != "atari":
        return None
    if starts is not None:
        return _by_table(score_tables.published(starts), game, score)
    if game not in _atari_scores():
        return None
    random, human = _atari_scores()[game]
    return 100 * (score - random) / (human - random)


def _by_table(table: score_tables.ScoreTable, game: str, score: float) -> float | None:
    if game not in table.human:
        return None
    rule = "random_is_zero" if table.starts == "human_starts" else "signed"
    return score_tables.normalised(table, {game: score}, video_pinball=rule)[game]


def _split(environment_name: str) -> tuple[str, str]:
    suite, _, rest = environment_name.partition(":")
    return suite, rest.partition(":")[0]


@functools.cache
def _atari_scores() -> dict[str, tuple[float, float]]:
    """Reads `{game: (random, human)}`."""
    rows = score_tables.rows_of("atari_noop_random_human.csv")
    return {row["game"]: (float(row["random"]), float(row["human"])) for row in rows}
