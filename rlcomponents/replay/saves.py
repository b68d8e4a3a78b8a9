"""Saves of a replay server in a folder of its own: the newest one, whole or not at all.

    state/replay-0/
        saved-7/        the newest save: Reverb's files, and saved.json
        saving/         one being written; moved to saved-8 once it is on the disk
        loading/        what Reverb is given to load, while it loads
        skipped-0/      one that nothing could go on from; left to the user

saved.json says how many items the save holds, and how long each file is and what its
checksum, since Reverb ends the process over files that do not fit together. Pure: the
launcher reads these folders without Reverb.
"""

import itertools
import json
import os
import pathlib
import shutil
import time
import zlib
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rlcomponents import core, pulse
from rlcomponents.runs import atomic_files

_FACTS = "saved.json"
_PREFIX = "saved-"
_BLOCK_BYTES = 1 << 20
_PAUSES_SECS = (1.0, 2.0, 4.0, 8.0, 16.0)

_T = TypeVar("_T")


class Save(NamedTuple):
    """One save that was completed.

    Attributes:
        path: Its folder.
        num_items: Items in it.
        time_secs: When it was made, by `time.time`.
    """

    path: pathlib.Path
    num_items: int
    time_secs: float


def saving(folder: pathlib.Path) -> pathlib.Path:
    """Returns where the next save is written."""
    return folder / "saving"


def loading(folder: pathlib.Path) -> pathlib.Path:
    """Returns where a save is made ready for Reverb."""
    return folder / "loading"


def newest(folder: pathlib.Path) -> Save | None:
    """Returns the newest completed save; None where there is none.

    Its files may be damaged all the same: see `check`.

    Raises:
        OSError: One cannot be read now.
    """
    for path in reversed(_numbered(folder)):
        try:
            facts = json.loads((path / _FACTS).read_text())
            return Save(path, int(facts["num_items"]), float(facts["time_secs"]))
        except (FileNotFoundError, NotADirectoryError):
            continue  # It was cut off, or is something else.
        except (KeyError, TypeError, ValueError):
            continue
    return None


def saved_items(folder: str | pathlib.Path) -> int | None:
    """Returns how many items the newest save in a folder holds; None without one.

    Raises:
        OSError: It cannot be read now.
    """
    save = newest(pathlib.Path(folder))
    return None if save is None else save.num_items


def check(save: Save) -> None:
    """Reads all of a save's files.

    Raises:
        ValueError: One is not as it was written.
        OSError: One cannot be read now.
    """
    files = json.loads((save.path / _FACTS).read_text())["files"]
    for name, expected in files.items():
        try:
            found = _measured(save.path / name)
        except FileNotFoundError as error:
            raise ValueError(f"{name} is missing.") from error
        if found != expected:
            raise ValueError(f"{name} is damaged.")


def read_patiently(
    read: Callable[[], _T], path: pathlib.Path, wait_for_stop: core.WaitForStop
) -> _T:
    """Reads a save, some times within half a minute while the disk does not let it.

    A disk that is full, or away for a moment, makes no save a bad one: to begin empty
    would cost what it holds.

    Args:
        read: Returns what is read.
        path: For whoever watches.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.

    Raises:
        OSError: It cannot be read for longer, or a stop was asked for meanwhile.
    """
    for pause_secs in _PAUSES_SECS:
        try:
            return read()
        except OSError as error:
            with pulse.current().waiting(f"the disk: {path} cannot be read ({error})"):
                if wait_for_stop(pause_secs):
                    raise
    return read()


def set_aside(path: pathlib.Path) -> pathlib.Path:
    """Renames a save that is skipped, so that no later one replaces or removes it.

    Returns:
        Its new path, beside the old one.
    """
    asides = (
        path.with_name(f"skipped-{number}{path.suffix}") for number in itertools.count()
    )
    aside = next(aside for aside in asides if not aside.exists())
    os.rename(path, aside)
    return aside


def publish(written: pathlib.Path, folder: pathlib.Path, num_items: int) -> Save:
    """Makes a folder that Reverb has written the newest save, and removes older ones.

    It is forced to the disk first, and so is its name before the older ones go: after a
    power cut one of them is there, and whole.

    Args:
        written: On the same disk as `folder`.
        folder: Of the saves.
        num_items: Items in it.

    Raises:
        OSError: The disk took no more; the save before is still the newest.
    """
    time_secs = time.time()
    files = {}
    for file in sorted(written.iterdir()):
        files[file.name] = _measured(file)
        atomic_files.sync(file)
    facts = {"num_items": num_items, "time_secs": time_secs, "files": files}
    atomic_files.write_json(written / _FACTS, facts)
    before = _numbered(folder)
    number = _number(before[-1]) + 1 if before else 0
    path = folder / f"{_PREFIX}{number}"
    atomic_files.publish(written, path)
    for older in before:
        shutil.rmtree(older, ignore_errors=True)
    return Save(path, num_items, time_secs)


def tidy(folder: pathlib.Path) -> None:
    """Removes what a process left that was killed over a save or a load."""
    for path in (saving(folder), loading(folder)):
        shutil.rmtree(path, ignore_errors=True)
    save = newest(folder)
    for path in _numbered(folder):
        if save is not None and path != save.path:
            shutil.rmtree(path, ignore_errors=True)


def _numbered(folder: pathlib.Path) -> list[pathlib.Path]:
    """All `saved-<number>`, oldest first."""
    paths = [
        path
        for path in folder.glob(f"{_PREFIX}*")
        if path.name.removeprefix(_PREFIX).isdecimal()
    ]
    return sorted(paths, key=_number)


def _number(path: pathlib.Path) -> int:
    return int(path.name.removeprefix(_PREFIX))


def _measured(path: pathlib.Path) -> list[int]:
    """Length in bytes, and CRC-32."""
    length = checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            length += len(block)
            checksum = zlib.crc32(block, checksum)
    return [length, checksum]
