"""A study whose variants are suites by name, each with its own table and curves."""

import dataclasses
import pathlib
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import pages, study
from launch import command_line
from rlcomponents.evaluation import suite_tables
from rlcomponents.runs import atomic_files, curves

Suites = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Agent and settings of each suite, by name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuitesFlags(study.StudyFlags):
    """Flags of such a script.

    Attributes:
        suites: Which, with commas between. None: all.
        games: Environments of all of them, as in `launch/suite.py`. None: each has its
            own.
        max_steps: Agent steps of each run. None: each suite has its own.
    """

    suites: str | None = None
    games: str | None = None
    max_steps: int | None = None


def main(
    script: str,
    argv: Sequence[str],
    description: str,
    suites: Suites,
    flags_class: type[SuitesFlags] = SuitesFlags,
) -> int:
    """Runs the suites that the flags name; returns the exit code.

    Args:
        script: `__file__` of the script.
        argv: Its flags.
        description: What it says of itself.
        suites: All that there are.
        flags_class: Its flags' defaults.
    """
    flags, _, _ = command_line.parse(argv, description, run_class=flags_class)
    with command_line.bad_input_refused():
        made = study.make(script, argv, flags, variants(flags, suites))
    return study.run(made, write)


def variants(flags: SuitesFlags, suites: Suites) -> list[study.Variant]:
    """Returns the suites that the flags name.

    Raises:
        ValueError: There is no such suite.
    """
    names = flags.suites if flags.suites is not None else ",".join(suites)
    found = []
    for name in study.chosen("suites", names, suites):
        agent, settings = suites[name]
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
        work = made.work / variant.name
        shutil.copy(work / suite_tables.CSV, out / suite_tables.CSV)
        page = (work / suite_tables.MARKDOWN).read_text() + f"\n{pages.PICTURE}\n"
        atomic_files.write_bytes(out / suite_tables.MARKDOWN, page.encode())
        _draw(out / pages.CURVES, runs, "agent_steps")
    _draw(made.out / pages.CURVES, list(made.all_runs()), "wall_secs")


def _draw(path: pathlib.Path, runs: Sequence[pathlib.Path], over: str) -> None:
    bands = curves.bands([curves.read(run, over) for run in runs])
    curves.draw(path, bands, over)
