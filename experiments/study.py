"""A study: variants of a run, each a suite of its own, and the folder they come to.

A variant is what `launch/suite.py` runs: an agent, games, seeds, settings. Its runs are
in WORK/VARIANT/runs/; what is small and worth keeping of them is copied to
OUT/VARIANT/runs/, see `kept_runs`. Started again, a study goes on where it stopped, as
its suites do; what was kept is not run again, be it with another machine.
"""

import dataclasses
import pathlib
import shlex
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agents import setting_checks
from experiments import costs, kept_runs
from launch import command_line, suite, suite_plan
from rlcomponents.evaluation import suite_results
from rlcomponents.launching import ending_signals, endings


@dataclasses.dataclass(frozen=True, kw_only=True)
class StudyFlags:
    """Flags of every study.

    Attributes:
        out: Folder of what is kept: table, curves, and the small files of each run.
            None: docs/results/ and the name of the script, with the environment where
            that is not the default one.
        work: Folder of the runs with all their files. None: results/ and that name.
        seeds: How many runs of each variant, with seeds from 0.
    """

    out: str | None = None
    work: str | None = None
    seeds: int = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class OneGameFlags(StudyFlags):
    """Flags of a study on one environment.

    Attributes:
        environment: What is played, by its full name or a game of Atari; one that is
            not the default has folders of its own.
    """

    environment: str


class Variant(NamedTuple):
    """One way to run.

    Attributes:
        name: Its folder.
        agent: As in `launch/suite.py`.
        settings: Flags of the suite, by name, with its `games`.
    """

    name: str
    agent: str
    settings: Mapping[str, Any]


class Study(NamedTuple):
    """What a script runs, and where.

    Attributes:
        out: Folder of what is kept.
        work: Folder of the suites.
        command: What was typed.
        variants: All of them, in order.
        seeds: Of each game of a variant.
    """

    out: pathlib.Path
    work: pathlib.Path
    command: str
    variants: Sequence[Variant]
    seeds: int

    def planned(self, variant: Variant) -> list[pathlib.Path]:
        """Returns the folders of all runs of a variant, by game and seed."""
        return [
            path
            for environment in suite_plan.environments(variant.settings["games"])
            for path in suite_plan.run_paths(
                self.work / variant.name, environment, self.seeds
            )
        ]

    def runs(self, variant: Variant) -> list[pathlib.Path]:
        """Returns the folders of the complete ones of them."""
        return list(filter(suite_results.is_complete, self.planned(variant)))

    def kept(self, variant: Variant) -> pathlib.Path:
        """Returns the folder of what is kept of the runs of a variant."""
        return self.out / variant.name / "runs"

    def all_runs(self) -> Iterator[pathlib.Path]:
        """Yields the folders of all complete runs."""
        for variant in self.variants:
            yield from self.runs(variant)


def make(
    script: str, argv: Sequence[str], flags: StudyFlags, variants: Iterable[Variant]
) -> Study:
    """Returns the study of a script.

    Args:
        script: Its `__file__`.
        argv: Its flags, as given.
        flags: The same, parsed.
        variants: What it runs.

    Raises:
        ValueError: There are no seeds, a variant is given twice, or a study on one
            environment is given none, or more.
    """
    setting_checks.check(flags, {"seeds": setting_checks.AT_LEAST_ONE})
    made = list(variants)
    names = [variant.name for variant in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} would be run twice: give it once.")
    name = pathlib.Path(script).stem
    folder = name
    if isinstance(flags, OneGameFlags):
        environment = _one_environment(flags.environment)
        if environment != _one_environment(type(flags).environment):
            folder += f"_{suite_plan.in_a_path(environment)}"
    return Study(
        pathlib.Path(flags.out or f"docs/results/{folder}"),
        pathlib.Path(flags.work or f"results/{folder}"),
        shlex.join(["python", f"experiments/{name}.py", *argv]),
        made,
        flags.seeds,
    )


def chosen(flag: str, text: str, allowed: Collection[str]) -> list[str]:
    """Returns what a flag names.

    Args:
        flag: Name of the flag.
        text: Its value: names with commas between.
        allowed: All that there are.

    Raises:
        ValueError: There is no such name.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in allowed:
            raise ValueError(
                f"{flag} has {name!r}: each must be one of {', '.join(allowed)}."
            )
    return names


def run(
    study: Study,
    write: Callable[[Study], None],
    runner: suite.ProcessRunner | None = None,
) -> int:
    """Runs what is not complete, keeps the small files, and has the table written.

    All variants and the folder of what is kept are checked before the first run starts;
    bad input ends the process.

    Args:
        study: What to run.
        write: Writes the table; called where there is a complete run.
        runner: Runs one command after another. None: as processes, measured.

    Returns:
        As of `suite.go_through`.
    """
    runner = runner or costs.MeasuringRunner()
    try:
        with command_line.bad_input_refused(), ending_signals.sent_to(runner.receive):
            suites = [_make_suite(study, variant) for variant in study.variants]
            prepare_out(study.out)
            for variant, each in zip(study.variants, suites, strict=True):
                kept_runs.take_up(each, study.kept(variant))
            return _run(study, suites, write, runner)
    except BrokenPipeError:
        return endings.OUTPUT_CLOSED


def prepare_out(out: pathlib.Path) -> None:
    """Makes the folder of what is kept.

    Raises:
        ValueError: It is a file, or nothing can be written to it.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()  # Permission bits do not tell.
    except OSError as error:
        raise ValueError(
            f"The folder {out} is not writable ({error.strerror}): give --out a folder "
            "in which you can make files."
        ) from error


def complete_runs(suite_folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders of the complete runs of a suite, by game and seed.

    Args:
        suite_folder: That of the suite, or of what was kept of it. There may be none.
    """
    found = sorted((suite_folder / "runs").glob("*/"))
    return [path for path in found if suite_results.is_complete(path)]


def _run(
    study: Study,
    suites: Sequence[suite_plan.Suite],
    write: Callable[[Study], None],
    runner: suite.ProcessRunner,
) -> int:
    exit_code = endings.FINISHED
    for number, each in enumerate(suites, start=1):
        print(f"{each.out.name} ({number} of {len(suites)})", flush=True)
        found = suite.go_through(each, runner)
        exit_code = found or exit_code
        if runner.signal is not None or found == endings.OUTPUT_CLOSED:
            break
    try:
        for variant in study.variants:
            kept_runs.keep(
                study.runs(variant),
                study.kept(variant),
                study.planned(variant),
            )
        is_written = any(study.all_runs())
        if is_written:
            write(study)
    except OSError as error:
        print(
            f"The results could not be written to {study.out} ({error}): see to it, "
            "and start the study again.",
            file=sys.stderr,
        )
        return exit_code or suite.SOME_FAILED
    if is_written and exit_code != endings.OUTPUT_CLOSED:
        print(f"Results: {study.out}", flush=True)
    return exit_code


def _one_environment(text: str) -> str:
    """Returns the full name of the one environment that is given."""
    names = [] if "," in text else suite_plan.environments(text)
    if len(names) != 1:
        raise ValueError(
            f"--environment is {text!r}: it must be one environment, such as "
            f"{names[0] if names else 'catch'}."
        )
    return names[0]


def _make_suite(study: Study, variant: Variant) -> suite_plan.Suite:
    """Checks a variant, and makes its folder."""
    settings = {
        "agent": variant.agent,
        "seeds": study.seeds,
        "out": study.work / variant.name,
        "quiet": True,
        "num_evaluation_videos": 0,  # Films take time that is measured.
        **variant.settings,
    }
    flags = [command_line.flag(name, value) for name, value in settings.items()]
    made = suite_plan.make_ready(flags, f"{study.command}, {variant.name}")
    provenance = made.provenance._replace(agent=variant.name, command=study.command)
    return made._replace(provenance=provenance)
