"""How many steps, and how much time, 1 to 16 workers take to a score.

    python experiments/scaling_workers.py
    python experiments/scaling_workers.py --environment=minatar:breakout --score=3

The four asynchronous methods. Data efficiency is the steps of one worker by those of
n: what the paper's speed-ups have beyond the number of its threads. Speed-up is the
same of wall time, which cannot exceed data efficiency times the number of cores.

Reference:
    Mnih et al. 2016, table 2 (mean of seven Atari games, 16 cores) and figure 3.
    https://arxiv.org/abs/1602.01783
"""

import dataclasses
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments import pages, study
from launch import command_line
from rlcomponents.launching import launcher
from rlcomponents.runs import curve, curves, metrics

METHODS = ("one_step_q", "one_step_sarsa", "n_step_q", "a3c")
"""In the order of the paper's table."""

PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "one_step_q": {1: 1.0, 2: 3.0, 4: 6.3, 8: 13.3, 16: 24.1},
    "one_step_sarsa": {1: 1.0, 2: 2.8, 4: 5.9, 8: 13.1, 16: 22.1},
    "n_step_q": {1: 1.0, 2: 2.7, 4: 5.9, 8: 10.7, 16: 17.2},
    "a3c": {1: 1.0, 2: 2.1, 4: 3.7, 8: 6.9, 16: 12.5},
}
"""Table 2 of the paper: speed-ups in time to a score, by method and threads."""

_COLOURS = ("#1f5fa8", "#b5562b", "#2e8b57", "#7b4fa0")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScalingFlags(study.OneGameFlags):
    """Flags of this script.

    Attributes:
        environment: What is played: one environment.
        score: Mean return of an evaluation that a run is to reach.
        max_steps: Agent steps of each run, which goes on after the score.
        evaluation_period_steps: Agent steps from one evaluation to the next.
        methods: Which, with commas between.
        workers: How many, with commas between.
        lp_launch_type: `local_mp`: workers are processes, on all cores. `local_mt`:
            they are threads of one process, start sooner and mostly share one core.
    """

    environment: str = "catch"
    score: float = 0.8
    max_steps: int = 30_000
    evaluation_period_steps: int = 1_000
    methods: str = ",".join(METHODS)
    workers: str = "1,2,4,8,16"
    lp_launch_type: str = "local_mp"


class Reached(NamedTuple):
    """When a run first had a score.

    Attributes:
        agent_steps: Of all workers together.
        wall_secs: From the first step.
    """

    agent_steps: float
    wall_secs: float


def main(argv: Sequence[str]) -> int:
    """Runs the study; returns the exit code."""
    flags, _, _ = command_line.parse(argv, str(__doc__), run_class=ScalingFlags)
    with command_line.bad_input_refused():
        made = study.make(__file__, argv, flags, variants(flags))
    return study.run(made, lambda done: write(done, flags))


def variants(flags: ScalingFlags) -> list[study.Variant]:
    """Returns a variant for each method and number of workers.

    Raises:
        ValueError: There is no such method, or workers are no numbers.
    """
    methods = study.chosen("methods", flags.methods, METHODS)
    try:
        numbers = sorted({int(number) for number in flags.workers.split(",")})
    except ValueError:
        raise ValueError(
            f"workers is {flags.workers!r}: give numbers with commas between."
        ) from None
    return [
        study.Variant(
            f"{method}-{number}",
            "a3c" if method == "a3c" else "async_q",
            {
                **({} if method == "a3c" else {"algorithm": method}),
                "games": flags.environment,
                "num_workers": number,
                "max_steps": flags.max_steps,
                "evaluation_period_steps": flags.evaluation_period_steps,
                "evaluation_episodes": 20,
                "lp_launch_type": flags.lp_launch_type,
            },
        )
        for method in methods
        for number in numbers
    ]


def reached(evaluations: Sequence[metrics.Row], score: float) -> Reached | None:
    """Returns when a score was first reached; None where it never was.

    Between the evaluations before and after, returns are taken as linear.

    Args:
        evaluations: Of a run, in order.
        score: Mean return.
    """
    before: metrics.Row = {}
    for row in evaluations:
        after, low = metrics.number(row, "mean_return"), 0.0
        if after >= score:
            part = 1.0
            if before:
                low = metrics.number(before, "mean_return")
                part = (score - low) / (after - low)
            return Reached(
                *(
                    metrics.number(before, name)
                    + part * (metrics.number(row, name) - metrics.number(before, name))
                    for name in Reached._fields
                )
            )
        before = row
    return None


def write(made: study.Study, flags: ScalingFlags) -> None:
    """Writes table and picture."""
    records = _records(made, flags.score)
    table = pages.markdown_table(
        [
            "method",
            "workers",
            "reached",
            "steps to the score",
            "seconds",
            "data efficiency",
            "speed-up",
            "published speed-up",
        ],
        [_cells(record) for record in records],
    )
    pages.write_page(
        made,
        f"Workers, on {flags.environment}",
        [
            "Agent steps of all workers together, and seconds from the first, until an "
            f"evaluation of 20 games first has a mean return of {flags.score:g}: "
            "medians over the runs that reached it. Data efficiency: steps of one "
            "worker by those of so many. Speed-up: the same of seconds. Published: "
            "table 2 of Mnih et al. 2016, speed-ups to a score, means of seven Atari "
            "games on 16 cores.",
            table,
            pages.PICTURE,
            f"Workers are {_WORKERS[flags.lp_launch_type]}. The evaluator plays every "
            f"{flags.evaluation_period_steps:,} steps, on the same cores.",
        ],
        runs=made.all_runs(),
    )
    pages.write_csv(made, records)
    _draw(made, records)


_WORKERS = {"local_mt": "threads of one process", "local_mp": "processes"}


def _records(made: study.Study, score: float) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    ones: dict[str, Reached] = {}
    for variant in made.variants:
        runs = made.runs(variant)
        found = [reached(pages.evaluations(path), score) for path in runs]
        times = [each for each in found if each is not None]
        method, _, workers = variant.name.rpartition("-")
        record: dict[str, Any] = {
            "method": method,
            "workers": int(workers),
            "seeds": len(runs),
            "seeds_reached": len(times),
            **dict.fromkeys(_MEASURED),
            "published_speedup": PUBLISHED[method].get(int(workers)),
        }
        if times:
            median = Reached(*map(statistics.median, zip(*times, strict=True)))
            record |= median._asdict()
            if record["workers"] == 1:
                ones[method] = median
            if method in ones:
                one = ones[method]
                record["data_efficiency"] = one.agent_steps / median.agent_steps
                record["speedup"] = one.wall_secs / median.wall_secs
        records.append(record)
    return records


_MEASURED = (*Reached._fields, "data_efficiency", "speedup")


def _cells(record: Mapping[str, Any]) -> list[str]:
    def number(name: str, digits: str) -> str:
        return "" if record[name] is None else format(record[name], digits)

    return [
        record["method"],
        f"{record['workers']}",
        f"{record['seeds_reached']} of {record['seeds']}",
        number("agent_steps", ",.0f"),
        number("wall_secs", ".1f"),
        number("data_efficiency", ".2f"),
        number("speedup", ".2f"),
        number("published_speedup", ".1f"),
    ]


def _draw(made: study.Study, records: Sequence[Mapping[str, Any]]) -> None:
    """Draws data efficiency, speed-up, and the published one, over workers."""
    from matplotlib import figure

    picture = figure.Figure(figsize=(14, 4.5), dpi=150, layout="constrained")
    panels = picture.subplots(1, 3)
    titles = {
        "data_efficiency": "data efficiency (steps)",
        "speedup": "speed-up (wall time)",
        "published_speedup": "published speed-up (16 cores, Atari)",
    }
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        for method, colour in zip(METHODS, _COLOURS, strict=True):
            points = [
                (record["workers"], record[column])
                for record in records
                if record["method"] == method and record[column] is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=colour, label=method)
        curve.dress(axes, title)
        axes.set_xlabel("workers")
        axes.set_ylabel("of one worker", color=curve.INK)
    panels[2].legend(frameon=False, labelcolor=curve.INK)
    curves.save_picture(picture, made.out / pages.CURVES)


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
