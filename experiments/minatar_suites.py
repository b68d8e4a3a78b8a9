"""All agents on MinAtar: the suites that `experiments/headlines.py` reads.

    python experiments/minatar_suites.py
    python experiments/minatar_suites.py --suites=dqn,gorila_dqn --seeds=5

Each suite is one of `launch/suite.py`, with what each run costs in CPU and memory.
A3C and n-step Q play all five games, the others three of them, in fewer steps: they
take more time for each.
"""

import dataclasses
import pathlib
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import study
from launch import command_line
from rlcomponents.evaluation import suite_tables
from rlcomponents.launching import launcher
from rlcomponents.runs import curves

_THREE = "minatar:breakout,minatar:asterix,minatar:space_invaders"
_FIVE = {"games": "minatar", "max_steps": 1_000_000, "evaluation_period_steps": 100_000}
_SHORT = {"games": _THREE, "max_steps": 300_000, "evaluation_period_steps": 30_000}

SUITES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a3c": ("a3c", _FIVE),
    "n_step_q": ("async_q", {"algorithm": "n_step_q", **_FIVE}),
    "one_step_q": ("async_q", {"algorithm": "one_step_q", **_SHORT}),
    "one_step_sarsa": ("async_q", {"algorithm": "one_step_sarsa", **_SHORT}),
    "dqn": ("dqn", _SHORT),
    "gorila_dqn": ("gorila_dqn", {"num_bundles": 2, **_SHORT}),
}
"""Agent and settings of each suite, by name; the cheap ones first."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MinatarFlags(study.StudyFlags):
    """Flags of this script.

    Attributes:
        suites: Which, with commas between.
        games: Environments of all of them, as in `launch/suite.py`. None: each has its
            own.
        max_steps: Agent steps of each run. None: each suite has its own.
    """

    suites: str = ",".join(SUITES)
    games: str | None = None
    max_steps: int | None = None


def main(argv: Sequence[str]) -> int:
    """Runs the suites; returns the exit code."""
    flags, _, _ = command_line.parse(argv, str(__doc__), run_class=MinatarFlags)
    with command_line.bad_input_refused():
        made = study.make(__file__, argv, flags, variants(flags))
    return study.run(made, write)


def variants(flags: MinatarFlags) -> list[study.Variant]:
    """Returns the suites.

    Raises:
        ValueError: There is no such suite.
    """
    found = []
    for name in study.chosen("suites", flags.suites, SUITES):
        agent, settings = SUITES[name]
        changes: dict[str, Any] = {}
        if flags.games is not None:
            changes["games"] = flags.games
        if flags.max_steps is not None:
            changes["max_steps"] = flags.max_steps
            changes["evaluation_period_steps"] = max(1, flags.max_steps // 10)
        found.append(study.Variant(name, agent, {**settings, **changes}))
    return found


def write(made: study.Study) -> None:
    """Copies the tables of the suites, and draws the curves of each, and of all."""
    for variant in made.variants:
        runs = made.runs(variant)
        if not runs:
            continue
        out = made.out / variant.name
        out.mkdir(parents=True, exist_ok=True)
        for name in (suite_tables.MARKDOWN, suite_tables.CSV):
            shutil.copy(made.work / variant.name / name, out / name)
        _draw(out / study.CURVES, runs, "agent_steps")
    _draw(made.out / study.CURVES, list(made.all_runs()), "wall_secs")


def _draw(path: pathlib.Path, runs: Sequence[pathlib.Path], over: str) -> None:
    bands = curves.bands([curves.read(run, over) for run in runs])
    curves.draw(path, bands, over)


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
