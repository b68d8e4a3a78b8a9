"""Flags of the scripts: one per setting of the agent's config, and a few for the run.

A setting's type and help come from its dataclass. Whatever is wrong with the flags is
said in one sentence, with exit code 2, before anything starts.
"""

import argparse
import dataclasses
import difflib
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

BAD_INPUT_EXIT_CODE = 2

_NONE = "none"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Flags that say how to run, not what.

    Attributes:
        lp_launch_type: `local_mp`: each node in a process of its own. `local_mt`: all
            of them in threads of one process.
        preset: `auto`, `atari`, `minatar` or `catch`: where settings that are not
            given come from. `auto` goes by the environment.
        run_dir: Folder of the run, new or empty. By default a new one under runs/.
        quiet: Whether to show nothing while the program runs.
    """

    lp_launch_type: str = "local_mp"
    preset: str = "auto"
    run_dir: str | None = None
    quiet: bool = False


class Flags(typing.NamedTuple):
    """What was given on the command line.

    Attributes:
        run: Flags of the run.
        settings: Values of those settings of the config that were given.
    """

    run: Any
    settings: dict[str, Any]


def refuse(message: object) -> NoReturn:
    """Ends the process for bad input, with one sentence on stderr."""
    print(f"{_program()}: {message}", file=sys.stderr, flush=True)
    raise SystemExit(BAD_INPUT_EXIT_CODE)


def parse(
    argv: Sequence[str],
    description: str,
    run_class: type = RunFlags,
    config_class: type | None = None,
) -> Flags:
    """Parses the flags, or ends the process with what is wrong with them.

    Args:
        argv: Without the program's name.
        description: First lines of `--help`.
        run_class: Dataclass of the flags of the run.
        config_class: Dataclass of the agent's settings. None: there are none.
    """
    parser = _Parser(
        prog=_program(),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [--flag=value ...]",
        allow_abbrev=False,
    )
    run_names = _add_flags(parser.add_argument_group("the run"), run_class)
    config_names: list[str] = []
    if config_class is not None:
        group = parser.add_argument_group("settings (defaults before any preset)")
        config_names = _add_flags(group, config_class)
    known, unknown = parser.parse_known_args(argv)
    if unknown:
        refuse(_describe_unknown(unknown[0], [*run_names, *config_names]))
    given = vars(known)
    run = run_class(**{name: given[name] for name in run_names if name in given})
    return Flags(run, {name: given[name] for name in config_names if name in given})


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Ends the process."""
        refuse(f"{message[:1].upper()}{message[1:]}; --help lists the flags.")


def _program() -> str:
    return sys.argv[0].rpartition("/")[2]


def _add_flags(group: argparse._ArgumentGroup, config_class: type) -> list[str]:
    types_by_name = typing.get_type_hints(config_class)
    helps = _attribute_helps(config_class)
    fields = dataclasses.fields(config_class)
    for field in fields:
        kind, optional = _plain_type(types_by_name[field.name])
        switch: dict[str, Any] = {"nargs": "?", "const": True} if kind is bool else {}
        group.add_argument(
            f"--{field.name}",
            default=argparse.SUPPRESS,
            type=_converter(field.name, kind, optional),
            help=f"{helps[field.name]} (default: {field.default})".replace("%", "%%"),
            metavar=kind.__name__.upper(),
            **switch,
        )
    return [field.name for field in fields]


def _plain_type(annotation: Any) -> tuple[type, bool]:
    """Returns the type without None, and whether None was one of its values."""
    if isinstance(annotation, types.UnionType):
        (kind,) = (arg for arg in annotation.__args__ if arg is not types.NoneType)
        return kind, True
    return annotation, False


_WORDS: Mapping[type, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "text",
}


def _converter(name: str, kind: type, optional: bool) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        if optional and text.lower() == _NONE:
            return None
        try:
            return _BOOLS[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            allowed = _WORDS[kind] + (f", or {_NONE}" if optional else "")
            refuse(f"--{name} is {text!r}: it must be {allowed}.")

    return convert


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
