"""How robust A3C is to its learning rate, by the optimiser of its workers.

    python experiments/learning_rates.py
    python experiments/learning_rates.py --optimisers=shared_rmsprop --num_rates=2

Ten rates, drawn once, and three optimisers: RMSProp with statistics shared by the
workers, RMSProp with those of each worker's own, momentum SGD with momentum of each
worker's own. The score is that of the last evaluation; the rate falls linearly to 0.

Reference:
    Mnih et al. 2016, supplement 7 and figure 8: scores of 50 rates and initialisations,
    sorted. https://arxiv.org/abs/1602.01783
"""

import dataclasses
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import pages, study
from launch import command_line
from rlcomponents.evaluation import suite_results
from rlcomponents.launching import launcher
from rlcomponents.runs import curve, curves

RATES = (1.6e-4, 2.4e-4, 4.1e-4, 8e-4, 2.8e-3, 5.9e-3, 9.6e-3, 2.1e-2, 3.7e-2, 9.6e-2)
"""LogUniform(1e-4, 1e-1), one of each tenth of its logarithm: by NumPy's generator of
seed 0, two digits of each."""

OPTIMISERS: Mapping[str, Mapping[str, Any]] = {
    "shared_rmsprop": {"optimiser": "rmsprop", "optimiser_statistics": "shared"},
    "private_rmsprop": {"optimiser": "rmsprop", "optimiser_statistics": "private"},
    "momentum_sgd": {"optimiser": "momentum", "optimiser_statistics": "private"},
}
"""Settings, by name."""

GOOD_SCORE = 0.5
"""What a run that has learned to catch exceeds: three balls of four."""

_COLOURS = ("#1f5fa8", "#b5562b", "#2e8b57")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearningRatesFlags(study.OneGameFlags):
    """Flags of this script.

    Attributes:
        environment: What is played: one environment.
        max_steps: Agent steps of each run.
        optimisers: Which, with commas between.
        num_rates: How many of the rates, evenly spread over the list.
    """

    environment: str = "catch"
    max_steps: int = 30_000
    optimisers: str = ",".join(OPTIMISERS)
    num_rates: int = len(RATES)
    seeds: int = 1


def main(argv: Sequence[str]) -> int:
    """Runs the study; returns the exit code."""
    flags, _, _ = command_line.parse(argv, str(__doc__), run_class=LearningRatesFlags)
    with command_line.bad_input_refused():
        made = study.make(__file__, argv, flags, variants(flags))
    return study.run(made, write)


def variants(flags: LearningRatesFlags) -> list[study.Variant]:
    """Returns a variant for each optimiser and rate.

    Raises:
        ValueError: There is no such optimiser, or there are fewer rates.
    """
    if not 2 <= flags.num_rates <= len(RATES):
        raise ValueError(
            f"num_rates is {flags.num_rates}: it must be 2 to {len(RATES)}."
        )
    names = study.chosen("optimisers", flags.optimisers, OPTIMISERS)
    last = flags.num_rates - 1
    rates = [
        RATES[round(index * (len(RATES) - 1) / last)]
        for index in range(flags.num_rates)
    ]
    return [
        study.Variant(
            f"{name}-{rate:g}",
            "a3c",
            {
                "games": flags.environment,
                "max_steps": flags.max_steps,
                "learning_rate": rate,
                **OPTIMISERS[name],
                "evaluation_period_steps": max(1, flags.max_steps // 5),
                "final_evaluation_episodes": 100,
            },
        )
        for name in names
        for rate in rates
    ]


def write(made: study.Study) -> None:
    """Writes table and picture."""
    scores = _scores(made)
    names = list(scores)
    rates = sorted({rate for by_rate in scores.values() for rate in by_rate})
    by_rate = pages.markdown_table(
        ["learning rate", *names],
        [
            [f"{rate:g}", *(_score(scores[name].get(rate)) for name in names)]
            for rate in rates
        ],
    )
    summed = pages.markdown_table(
        ["optimiser", "rates", "mean score", f"above {GOOD_SCORE}", "scores, sorted"],
        [_summary(name, sorted(scores[name].values(), reverse=True)) for name in names],
    )
    pages.write_page(
        made,
        "A3C over learning rates, by optimiser",
        [
            "Score of the last evaluation, 100 games of the final parameters, by "
            "learning rate, which falls linearly to 0. The rates are log-uniform "
            "between 1e-4 and 1e-1, one of each tenth.",
            by_rate,
            "The same over all rates; the mean is the area under the sorted scores:",
            summed,
            pages.PICTURE,
        ],
        runs=made.all_runs(),
    )
    pages.write_csv(
        made,
        [
            {"optimiser": name, "learning_rate": rate, "score": score}
            for name in names
            for rate, score in sorted(scores[name].items())
        ],
    )
    _draw(made, scores)


def _scores(made: study.Study) -> dict[str, dict[float, float]]:
    """Returns mean scores over seeds, by optimiser and rate."""
    scores: dict[str, dict[float, float]] = {}
    for variant in made.variants:
        finals = [suite_results.read(path).final_return for path in made.runs(variant)]
        if finals:
            name = variant.name.partition("-")[0]
            rate = variant.settings["learning_rate"]
            scores.setdefault(name, {})[rate] = statistics.fmean(finals)
    return scores


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _summary(name: str, ordered: Sequence[float]) -> list[str]:
    return [
        name,
        f"{len(ordered)}",
        f"{statistics.fmean(ordered):.2f}",
        f"{sum(score > GOOD_SCORE for score in ordered)}",
        ", ".join(map(_score, ordered)),
    ]


def _draw(made: study.Study, scores: Mapping[str, Mapping[float, float]]) -> None:
    """Draws scores over rates, and sorted."""
    from matplotlib import figure

    picture = figure.Figure(figsize=(11, 4.5), dpi=150, layout="constrained")
    over_rates, ordered = picture.subplots(1, 2, sharey=True)
    for colour, (name, by_rate) in zip(_COLOURS, scores.items(), strict=False):
        points = zip(*sorted(by_rate.items()), strict=True)
        over_rates.plot(*points, "o-", color=colour, label=name)
        values = sorted(by_rate.values(), reverse=True)
        ordered.plot(range(1, len(values) + 1), values, "o-", color=colour, label=name)
    curve.dress(over_rates, "score by learning rate")
    over_rates.set_xscale("log")
    over_rates.set_xlim(1e-4, 1e-1)  # No log of the 0 at which all our pictures begin.
    over_rates.set_xlabel("learning rate")
    curve.dress(ordered, "scores, sorted")
    ordered.set_xlabel("rank of the learning rate")
    ordered.legend(frameon=False, labelcolor=curve.INK)
    curves.save_picture(picture, made.out / pages.CURVES)


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
