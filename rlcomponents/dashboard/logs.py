"""The ends of node logs, as they grow.

No path is made of what a client says: a log is named, and looked up among those there.
"""

import codecs
import os
import pathlib
import re
import stat
from typing import NamedTuple

MAX_BYTES = 64 * 1024
"""Of a log at a time; what lies before that is left out."""

_ESCAPE_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Tail(NamedTuple):
    """A piece of a log.

    Attributes:
        text: Without escape codes of terminals.
        offset_bytes: Where the next piece begins.
        is_fresh_start: Whether it does not go on from the piece before.
    """

    text: str
    offset_bytes: int
    is_fresh_start: bool


def names(folder: pathlib.Path) -> list[str]:
    """Returns the logs in a folder, without `.log`; none where it is missing.

    Links that lead out of the folder, and what is no file, are passed over.
    """
    return sorted(path.stem for path in folder.glob("*.log") if _is_inside(path))


def tail(folder: pathlib.Path, name: str, offset_bytes: int | None = None) -> Tail:
    """Reads on in a log.

    Args:
        folder: The run's folder of logs.
        name: One of `names`.
        offset_bytes: Where the last piece ended. None: reads the end of the log; so is
            it done where more than `MAX_BYTES` have come since, or it became shorter.

    Raises:
        ValueError: There is no such log.
        OSError: It cannot be read.
    """
    if name not in names(folder):
        raise ValueError(f"There is no log {name!r} in this run.")
    with (folder / f"{name}.log").open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        goes_on = (
            offset_bytes is not None
            and 0 <= size_bytes - offset_bytes <= MAX_BYTES
            and offset_bytes >= 0
        )
        start = offset_bytes if goes_on and offset_bytes is not None else None
        if start is None:
            start = max(0, size_bytes - MAX_BYTES)
        file.seek(start)
        piece = file.read(size_bytes - start)
    if not goes_on and start > 0:
        piece = piece[piece.find(b"\n") + 1 :]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(piece)
    unfinished, _ = decoder.getstate()  # The first bytes of a character.
    return Tail(_ESCAPE_CODE.sub("", text), size_bytes - len(unfinished), not goes_on)


def _is_inside(path: pathlib.Path) -> bool:
    try:
        target = path.resolve(strict=True)
        is_file = stat.S_ISREG(target.stat().st_mode)
    except (OSError, RuntimeError):  # Gone in between; a link to itself.
        return False
    return is_file and target.parent == path.parent.resolve()
