"""Whether it helps that workers explore differently.

    python experiments/exploration.py
    python experiments/exploration.py --algorithm=one_step_sarsa --seeds=5

Asynchronous one-step Q, where each worker draws the epsilon at which it ends (0.1, 0.01
or 0.5), and where all end at one epsilon: 0.1, the likeliest of these, or 0.193, their
mean, at which workers take as many random actions as the diverse ones on average.

Reference:
    Mnih et al. 2016, section 4 on asynchronous one-step Q-learning: different
    exploration policies add diversity. https://arxiv.org/abs/1602.01783
"""

import dataclasses
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from experiments import pages, study
from launch import command_line
from rlcomponents.evaluation import suite_results
from rlcomponents.launching import launcher
from rlcomponents.runs import curves, metrics

EPSILONS: dict[str, float | None] = {
    "diverse": None,
    "all_0.1": 0.1,
    "all_0.193": 0.193,
}
"""`final_epsilon`, by variant."""

_WORDS = {
    "diverse": "each draws its own",
    "all_0.1": "0.1 for all",
    "all_0.193": "0.193 for all",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplorationFlags(study.OneGameFlags):
    """Flags of this script.

    Attributes:
        environment: What is played: one environment.
        algorithm: As in `launch/async_q.py`.
        max_steps: Agent steps of each run.
        num_workers: Of each run; with few of them, few of the epsilons are drawn.
    """

    environment: str = "minatar:breakout"
    algorithm: str = "one_step_q"
    max_steps: int = 300_000
    num_workers: int = 4


def main(argv: Sequence[str]) -> int:
    """Runs the study; returns the exit code."""
    flags, _, _ = command_line.parse(argv, str(__doc__), run_class=ExplorationFlags)
    with command_line.bad_input_refused():
        made = study.make(__file__, argv, flags, variants(flags))
    return study.run(made, lambda done: write(done, flags))


def variants(flags: ExplorationFlags) -> list[study.Variant]:
    """Returns a variant for each way to explore."""
    return [
        study.Variant(
            name,
            "async_q",
            {
                "games": flags.environment,
                "algorithm": flags.algorithm,
                "max_steps": flags.max_steps,
                "num_workers": flags.num_workers,
                "final_epsilon": epsilon,
                "evaluation_period_steps": max(1, flags.max_steps // 10),
            },
        )
        for name, epsilon in EPSILONS.items()
    ]


def write(made: study.Study, flags: ExplorationFlags) -> None:
    """Writes table and curves."""
    records = []
    for variant in made.variants:
        results = [suite_results.read(path) for path in made.runs(variant)]
        if results:
            finals = [result.final_return for result in results]
            means = [
                statistics.fmean(
                    metrics.number(row, "mean_return")
                    for row in pages.evaluations(path)
                )
                for path in made.runs(variant)
            ]
            records.append(_record(variant.name, finals, means))
    table = pages.markdown_table(
        ["final epsilon of the workers", "runs", "last evaluation", "all evaluations"],
        [
            [
                _WORDS[record["variant"]],
                f"{record['runs']}",
                _with_interval(record, "final"),
                _with_interval(record, "all"),
            ]
            for record in records
        ],
    )
    pages.write_page(
        made,
        f"Exploration of {flags.algorithm}, on {flags.environment}",
        [
            f"{flags.num_workers} workers, {flags.max_steps:,} agent steps. Mean "
            "return of the last evaluation, and of all of a run: means over runs, with "
            "their 95 % intervals (bootstrap over runs).",
            table,
            pages.PICTURE,
        ],
        runs=made.all_runs(),
    )
    pages.write_csv(made, records)
    bands = curves.bands([curves.read(path, "agent_steps") for path in made.all_runs()])
    curves.draw(made.out / pages.CURVES, bands, "agent_steps")


def _record(
    name: str, finals: Sequence[float], means: Sequence[float]
) -> dict[str, Any]:
    record: dict[str, Any] = {"variant": name, "runs": len(finals)}
    for kind, values in (("final", finals), ("all", means)):
        mean, low, high = pages.mean_with_interval(values)
        record |= {f"{kind}_return": mean, f"{kind}_low": low, f"{kind}_high": high}
    return record


def _with_interval(record: dict[str, Any], kind: str) -> str:
    return pages.interval_text(
        record[f"{kind}_return"], record[f"{kind}_low"], record[f"{kind}_high"]
    )


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
