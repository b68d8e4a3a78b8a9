"""Files and folders that appear under their name whole, or not at all.

A run may be killed at any moment, and the next one trusts what it finds. So contents
are written under another name, forced to the disk, and renamed; the rename is atomic.
"""

import json
import os
import pathlib
from typing import Any


def write_bytes(path: pathlib.Path, payload: bytes, *, lasting: bool = True) -> None:
    """Replaces the file at `path`: readers see the old contents or the new ones.

    Args:
        path: The file.
        payload: Its contents.
        lasting: Whether to force them to the disk. Without, which is much faster, they
            outlive the process at any moment, but not the machine.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        aside.write_bytes(payload)
        if lasting:
            publish(aside, path)
        else:
            os.rename(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: pathlib.Path, value: Any, *, lasting: bool = True) -> None:
    """Replaces the file at `path` by `value` as indented JSON.

    Args:
        path: The file.
        value: Its contents.
        lasting: See `write_bytes`.

    Raises:
        ValueError: `value` holds a NaN or an infinity, which JSON has no word for.
        TypeError: `value` holds something that JSON has no form for.
    """
    text = json.dumps(value, indent=2, allow_nan=False)
    write_bytes(path, text.encode() + b"\n", lasting=lasting)


def publish(aside: pathlib.Path, path: pathlib.Path) -> None:
    """Renames a finished file or folder to `path`, and makes both last.

    Files inside a folder must have been synced already. `path` may be an existing
    file, which is replaced; it may not be an existing folder.
    """
    sync(aside)
    os.rename(aside, path)
    sync(path.parent)


def sync(path: pathlib.Path) -> None:
    """Forces a file's contents, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
