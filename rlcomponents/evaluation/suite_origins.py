"""What runs of a suite were made with: each says so itself, in a file of its own.

A table may be written long after its runs, elsewhere, and by newer code.
"""

import json
import pathlib
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from rlcomponents.evaluation import suite_results
from rlcomponents.runs import atomic_files

FILE = "origin.json"
"""Name in the folder of a run."""


class Origin(NamedTuple):
    """With what, and when, a run was started first.

    Attributes:
        versions: Of the packages.
        machine: Cores and processor.
        date: Day, in local time, as YYYY-MM-DD.
        commit: Of the checkout that holds the code, and whether that has changes which
            are in no commit. None: the code is in no checkout.
    """

    versions: str
    machine: str
    date: str
    commit: str | None = None


def write(path: pathlib.Path, origin: Origin) -> None:
    """Leaves an origin in the folder of a run, which is made if missing.

    Raises:
        OSError: The disk took no more.
    """
    path.mkdir(parents=True, exist_ok=True)
    atomic_files.write_json(path / FILE, origin._asdict())


def read(path: pathlib.Path) -> Origin | None:
    """Returns the origin of a run; None where it left none.

    Raises:
        ValueError: The file is none of ours.
    """
    try:
        return Origin(**json.loads((path / FILE).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path / FILE} does not say what a run was made with ({error}): remove it."
        ) from error


def describe(paths: Iterable[pathlib.Path]) -> str:
    """Returns what runs were made with, and when they ended, in words.

    Args:
        paths: Their folders. Of none there are no words.
    """
    runs = list(paths)
    counts = Counter(map(_words, map(read, runs)))
    if len(counts) == 1 and None not in counts:
        parts = [f"{words}." for words in counts]
    else:
        parts = [
            f"{counted(number, 'run')}: {words}."
            for words, number in counts.items()
            if words is not None
        ]
        if counts[None]:
            made = "it" if counts[None] == 1 else "them"
            parts.append(
                f"{counted(counts[None], 'run')}: no record of what made {made}."
            )
    days = suite_results.dates(runs)
    if days:
        parts.append(f"Runs of {days}.")
    return " ".join(parts)


def counted(number: int, noun: str) -> str:
    """Returns `1 run`, or `2 runs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seeds(numbers: Collection[int]) -> str:
    """Returns `Seed 0.`, or `Seeds 0, 1.`."""
    noun = "Seed" if len(numbers) == 1 else "Seeds"
    return f"{noun} {', '.join(map(str, sorted(numbers)))}."


def _words(origin: Origin | None) -> str | None:
    if origin is None:
        return None
    commit = f", commit {origin.commit}" if origin.commit else ""
    return f"{origin.versions}, on {origin.machine}{commit}"
