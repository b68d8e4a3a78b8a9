"""Saves of a replay server in a folder of its own: the newest one, whole or not at all.

    state/replay-0/
        saved-7/        the newest save: Reverb's files, and saved.json
        saving/         one being written; moved to saved-8 once it is on the disk
        loading/        what Reverb is given to load, while it loads

saved.json says how many items the save holds, and how long each file is and what its
checksum, since Reverb ends the process over files that do not fit together. Pure: the
launcher reads these folders without Reverb.
"""

import json
import pathlib
import shutil
import time
import zlib
from typing import NamedTuple

from rlcomponents.runs import atomic_files

_FACTS = "saved.json"
_PREFIX = "saved-"
_BLOCK_BYTES = 1 << 20


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
    """
    for path in reversed(_numbered(folder)):
        try:
            facts = json.loads((path / _FACTS).read_text())
            return Save(path, int(facts["num_items"]), float(facts["time_secs"]))
        except (OSError, KeyError, TypeError, ValueError):
            continue
    return None


def saved_items(folder: str | pathlib.Path) -> int | None:
    """Returns how many items the newest save in a folder holds; None without one."""
    save = newest(pathlib.Path(folder))
    return None if save is None else save.num_items


def check(save: Save) -> None:
    """Reads all of a save's files.

    Raises:
        ValueError: One is not as it was written.
    """
    files = json.loads((save.path / _FACTS).read_text())["files"]
    for name, expected in files.items():
        try:
            found = _measured(save.path / name)
        except OSError as error:
            raise ValueError(f"{name} cannot be read ({error.strerror}).") from error
        if found != expected:
            raise ValueError(f"{name} is damaged.")


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
