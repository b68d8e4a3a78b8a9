"""Flags of the scripts: one per setting of the agent's config, and a few for the run.

A setting's type and help come from its dataclass. Whatever is wrong with the flags is
said in one sentence, with exit code 2, before anything starts.
"""

import argparse
import contextlib
import dataclasses
import difflib
import pathlib
import re
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import agents
import launch
import rlcomponents
from agents import setting_checks
from rlcomponents.environments import registry

BAD_INPUT_EXIT_CODE = 2
"""Exit code of a script whose flags are refused."""

_NONE = "none"
_OWN_FOLDERS = [
    pathlib.Path(str(package.__file__)).parent
    for package in (agents, launch, rlcomponents)
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LaunchFlags:
    """Flags that say how to launch a program, not what.

    Attributes:
        lp_launch_type: `local_mp`: each node in a process of its own. `local_mt`: all
            of them in threads of one process.
        preset: `auto`, or an environment or suite that the agent has one for, such as
            `minatar`: where settings that are not given come from. `auto` goes by
            the environment.
        on_failure: `restart`: a node that died is started again, and only when it dies
            three times in a row without completing a step does the run end. `stop`: the
            first death ends it. None: restart where nodes are processes, else stop.
        hang_timeout_secs: Seconds of silence, or on one step, after which a node hangs
            and has died. None: who is silent, or waits, is only named on the screen.
        compute_threads: Of each node, by role, as in `learner:2,actor:1`. None: one.
        gpus: Which each role sees, as in `learner:0`; the others see none. None: roles
            that learn from replay see all that there are, the others none. Needs a
            TensorFlow for GPUs in place of the installed one, which is for CPUs: see
            docs/how-to/machines.md.
        node_network: `private`: nodes share a network that nobody else reaches and
            that leads nowhere. `open`: they have the machine's, as some environments
            and loggers need; whoever can reach the machine can then run code as you.
            `auto`: private where nodes are processes and the kernel allows it; if
            not, open, with a warning. See docs/security.md.
        quiet: Whether to print only what came of the run, and what goes wrong.
    """

    lp_launch_type: str = "local_mp"
    preset: str = "auto"
    on_failure: str | None = None
    hang_timeout_secs: float | None = None
    compute_threads: str | None = None
    gpus: str | None = None
    node_network: str = "auto"
    quiet: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags(LaunchFlags):
    """Flags of one run; how to launch it is in `LaunchFlags`.

    Attributes:
        run_dir: Folder of the run, new or empty. By default a new one under runs/.
        resume: Folder of a run, to go on with it from its newest checkpoint. Settings
            are those that it had; others given here change them, where they can
            change. None: a new run.
    """

    run_dir: str | None = None
    resume: str | None = None


class Flags(typing.NamedTuple):
    """What was given on the command line.

    Attributes:
        run: Flags of the run.
        settings: Values of those settings of the config that were given.
        operands: What was given without a flag's name.
    """

    run: Any
    settings: dict[str, Any]
    operands: list[str]


def refuse(message: object) -> NoReturn:
    """Ends the process for bad input, with one sentence on stderr."""
    sentence = " ".join(str(message).split())
    print(f"{_program()}: {sentence}", file=sys.stderr, flush=True)
    raise SystemExit(BAD_INPUT_EXIT_CODE)


@contextlib.contextmanager
def bad_input_refused(environment: str = "") -> Iterator[None]:
    """Ends the process with one sentence if what is inside finds bad input.

    Args:
        environment: Name of the run's environment. Where it is a user's own, whatever
            its code raises is refused, too, with the place where it was raised.
    """
    try:
        yield
    except Exception as error:
        path, line = _place(error)
        is_ours = any(folder in path.parents for folder in _OWN_FOLDERS)
        if environment.startswith(f"{registry.USERS_OWN}:") and not is_ours:
            refuse(
                f"{environment} raised {type(error).__name__}: {error} "
                f"({path}, line {line})."
            )
        if not isinstance(error, (ValueError, ImportError)):
            raise
        refuse(error)


@contextlib.contextmanager
def unwritable_refused(out: pathlib.Path) -> Iterator[None]:
    """Says what to do where what `--out` names cannot be written.

    Raises:
        ValueError: What is inside raised OSError.
    """
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"--out is {str(out)!r}, which cannot be written "
            f"({error.strerror or error}): choose another."
        ) from error


def parse(
    argv: Sequence[str],
    description: str,
    run_class: type = RunFlags,
    config_class: type | None = None,
    operands: str | None = None,
) -> Flags:
    """Parses the flags, or ends the process with what is wrong with them.

    Args:
        argv: Without the program's name.
        description: First lines of `--help`.
        run_class: Dataclass of the flags of the run.
        config_class: Dataclass of the agent's settings. None: there are none.
        operands: What one or more arguments without a flag's name are, such as
            `RUN_DIR`. None: there can be none.
    """
    usage = "%(prog)s [--flag=value ...]"
    parser = _Parser(
        prog=_program(),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=usage if operands is None else f"{usage} {operands} ...",
        allow_abbrev=False,
    )
    if operands is not None:
        parser.add_argument("operands", nargs="+", metavar=operands)
    title = "flags" if config_class is None else "the run"  # Beside its settings.
    run_names = _add_flags(parser.add_argument_group(title), run_class)
    config_names: list[str] = []
    if config_class is not None:
        group = parser.add_argument_group("settings (defaults before any preset)")
        config_names = _add_flags(group, config_class)
    known, unknown = parser.parse_known_args(argv)
    if unknown:
        refuse(_describe_unknown(unknown[0], [*run_names, *config_names]))
    given = vars(known)
    run = run_class(**{name: given[name] for name in run_names if name in given})
    settings = {name: given[name] for name in config_names if name in given}
    return Flags(run, settings, given.get("operands", []))


def flag(name: str, value: Any) -> str:
    """Returns a flag with its value, as it is written on the command line."""
    return f"--{name}={_text(value)}"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Ends the process."""
        refuse(f"{message[:1].upper()}{message[1:]}; --help lists the flags.")


class _StoreOnce(argparse.Action):
    """Keeps a value; a flag given twice leaves it open which value was meant."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Stores the value."""
        if hasattr(namespace, self.dest):
            refuse(f"{option_string} is given twice: give it once.")
        setattr(namespace, self.dest, values)


def _place(error: Exception) -> tuple[pathlib.Path, int | None]:
    """Returns the file and line where an error was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return pathlib.Path(frame.filename), frame.lineno


def _program() -> str:
    return sys.argv[0].rpartition("/")[2]


def _add_flags(group: argparse._ArgumentGroup, config_class: type) -> list[str]:
    types_by_name = typing.get_type_hints(config_class)
    helps = _attribute_helps(config_class)
    fields = dataclasses.fields(config_class)
    for field in fields:
        kind, optional = setting_checks.plain_type(types_by_name[field.name])
        switch: dict[str, Any] = {"nargs": "?", "const": True} if kind is bool else {}
        group.add_argument(
            f"--{field.name}",
            action=_StoreOnce,
            default=argparse.SUPPRESS,
            type=_converter(field.name, kind, optional),
            help=f"{helps[field.name]} (default: {_text(field.default)})".replace(
                "%", "%%"
            ),
            metavar=kind.__name__.upper(),
            **switch,
        )
    return [field.name for field in fields]


def _converter(name: str, kind: type, optional: bool) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        if optional and text.lower() == _NONE:
            return None
        try:
            if kind is str and not text:
                raise ValueError("A flag without a value.")
            return _BOOLS[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            allowed = setting_checks.describe_type(kind, optional)
            refuse(f"--{name} is {text!r}: it must be {allowed}.")

    return convert


def _text(value: Any) -> str:
    """Returns a value as it is written on the command line."""
    if value is None:
        return _NONE
    return str(value).lower() if isinstance(value, bool) else str(value)


_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def _describe_unknown(argument: str, names: Sequence[str]) -> str:
    if not argument.startswith("--"):
        return (
            f"{argument!r} is not a flag: flags look like --seed=7; --help lists them."
        )
    name = re.split("=", argument[2:])[0]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(f'--{each}' for each in near)}? " if near else ""
    return f"There is no flag --{name}: {hint}--help lists the flags."


def _attribute_helps(config_class: type) -> dict[str, str]:
    """Returns each attribute's text, from the docstrings of the class's lineage."""
    helps: dict[str, str] = {}
    for parent in reversed(config_class.__mro__):
        section = (parent.__doc__ or "").partition("Attributes:\n")[2]
        for match in re.finditer(
            r"^ {8}(\w+): (.*(?:\n {12}.*)*)", section, re.MULTILINE
        ):
            helps[match[1]] = " ".join(match[2].split())
    return helps
