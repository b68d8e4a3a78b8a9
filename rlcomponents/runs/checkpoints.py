"""Saved states of a run: a crash at any moment leaves the last good one in place.

    checkpoints/step_000000012345/
        manifest.json        what each part is as of, its size and checksum; facts
        <part>.npz           named arrays, e.g. of one parameter shard
        <node>.json          what a node goes on from, as it wrote it
        <node>.npz           the same, where a node keeps arrays

Each part is consistent in itself, and the manifest says at which version it was taken;
there is no one moment for all. A checkpoint is written under another name, forced to
the disk and renamed; older ones are removed only after that. It is read without pickle:
a checkpoint from elsewhere can be wrong, but it cannot run code.
"""

import json
import os
import pathlib
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rlcomponents import array_files
from rlcomponents.runs import atomic_files

BEST = "best"
"""Name of the folder among a run's checkpoints whose newest is the best by evaluation.

It keeps older ones as long as the run may be resumed from before the newest.
"""

_FORMAT = "rlcomponents 2"
_MANIFEST = "manifest.json"
_NAME = re.compile(r"step_(\d{12,})(?:-(\d+))?")
_PART = re.compile(r"[A-Za-z0-9_.-]+")
_ARRAYS = ".npz"
_DAMAGED = "damaged-"

Parts = Mapping[str, Mapping[str, np.ndarray]]
"""Arrays by part of a program, and by name in the part."""


def save(
    directory: pathlib.Path,
    *,
    agent_steps: int,
    parts: Parts,
    facts: Mapping[str, Any],
    documents: Mapping[str, bytes] | None = None,
    files: Sequence[pathlib.Path] = (),
    versions: Mapping[str, Mapping[str, int]] | None = None,
    num_kept: int = 2,
) -> pathlib.Path:
    """Saves a checkpoint, then removes all but the newest ones.

    One process saves to a directory at a time.

    Args:
        directory: Where checkpoints lie; made if missing.
        agent_steps: Global agent steps; the newest checkpoint is the one with most.
        parts: Named arrays of each part, e.g. `{"parameters_0": {"vector": ...}}`.
        facts: Whatever JSON holds exactly: counters, names, seeds.
        documents: Further files by name, as they are.
        files: Further files of arrays (`.npz`), copied as they are.
        versions: By the name of a part or document: what it was taken as of, such as
            `{"epoch": 0, "updates": 7}`. None: nothing is said.
        num_kept: Intact checkpoints to keep, this one included.

    Returns:
        The folder of the checkpoint: `step_<agent steps>`, with the suffix `-2` if the
        directory holds a checkpoint of this step already.

    Raises:
        ValueError: A part has no proper file name, an array needs pickle, or `facts`
            holds a NaN or an infinity.
        OSError: The disk took no more; the checkpoints before are as they were.
    """
    documents, versions = documents or {}, versions or {}
    if num_kept < 1:
        raise ValueError(f"num_kept must be at least 1, not {num_kept}.")
    for name in (*parts, *documents, *(path.name for path in files)):
        if not _PART.fullmatch(name) or name == _MANIFEST:
            raise ValueError(
                f"A part is named {name!r}: use letters, digits, '_', '-' and '.' only."
            )
    directory.mkdir(parents=True, exist_ok=True)
    for leftover in directory.glob(".step_*.tmp"):  # Of a save that was cut short.
        shutil.rmtree(leftover)
    path = free_path(directory / f"step_{agent_steps:012d}")
    aside = directory / f".{path.name}.tmp"
    try:
        aside.mkdir()
        listed = {}
        for name, arrays in parts.items():
            file = aside / f"{name}{_ARRAYS}"
            array_files.write(file, arrays)
            atomic_files.sync(file)
            listed[file.name] = _describe(file, versions.get(name, {}))
        for name, document in documents.items():
            file = aside / name
            file.write_bytes(document)
            atomic_files.sync(file)
            listed[name] = _describe(file, versions.get(name, {}))
        for copied in files:
            file = aside / copied.name
            shutil.copyfile(copied, file)
            atomic_files.sync(file)
            listed[file.name] = _describe(file, versions.get(file.name, {}))
        manifest = {
            "format": _FORMAT,
            "agent_steps": int(agent_steps),
            "parts": listed,
            "facts": dict(facts),
        }
        atomic_files.write_json(aside / _MANIFEST, manifest)
        atomic_files.publish(aside, path)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)  # Its room may be what others need.
        raise

    others = [other for other in _sorted_paths(directory) if not _fault(other)]
    others.remove(path)
    for old in others[: max(0, len(others) - (num_kept - 1))]:
        # Out of sight first: a removal that is cut short leaves no torn checkpoint.
        hidden = directory / f".{old.name}.tmp"
        os.rename(old, hidden)
        shutil.rmtree(hidden)
    return path


def latest(directory: pathlib.Path, *, thorough: bool = False) -> pathlib.Path | None:
    """Returns the intact checkpoint with most agent steps, or None if there is none.

    Prints one sentence for each newer one that is torn or not ours.

    Args:
        directory: Where checkpoints lie.
        thorough: Whether to read every part to its end, rather than look at its size.
    """
    for path in reversed(_sorted_paths(directory)):
        fault = _fault(path, thorough=thorough)
        if not fault:
            return path
        print(f"Skipping the checkpoint {path}: {fault}.", flush=True)
    return None


def load(
    path: pathlib.Path,
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
    """Reads the arrays and facts of a checkpoint.

    Returns:
        `(parts, facts)` as they were saved; tuples in the facts come back as lists.

    Raises:
        ValueError: The checkpoint is torn, damaged or not ours.
    """
    manifest = read_manifest(path)
    parts = {
        name.removesuffix(_ARRAYS): array_files.read(path / name)
        for name in manifest["parts"]
        if name.endswith(_ARRAYS)
    }
    return parts, manifest["facts"]


def load_documents(path: pathlib.Path) -> dict[str, bytes]:
    """Reads the other files of a checkpoint, by name.

    Raises:
        ValueError: See `load`.
    """
    names = read_manifest(path)["parts"]
    return {
        name: (path / name).read_bytes() for name in names if not name.endswith(_ARRAYS)
    }


def read_manifest(path: pathlib.Path) -> dict[str, Any]:
    """Returns the manifest of a checkpoint, of which every part is as it says.

    Raises:
        ValueError: See `load`.
    """
    fault = _fault(path, thorough=True)
    if fault:
        raise ValueError(f"The checkpoint {path} cannot be read: {fault}.")
    return dict(json.loads((path / _MANIFEST).read_text()))


def listed(directory: pathlib.Path) -> list[tuple[int, pathlib.Path]]:
    """Returns agent steps and path of all that is named as a checkpoint, oldest first.

    Whether they are intact is not looked at.
    """
    found = []
    for path in directory.glob("step_*"):
        match = _NAME.fullmatch(path.name)
        if match:
            found.append((int(match[1]), int(match[2] or 1), path))
    return [(agent_steps, path) for agent_steps, _, path in sorted(found)]


def free_path(path: pathlib.Path) -> pathlib.Path:
    """Returns a path that nothing has: this one, or with a number behind its name."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def set_aside_newer(directory: pathlib.Path, path: pathlib.Path) -> None:
    """Renames checkpoints newer than `path`, so that those to come are the newest.

    For a run that goes on from `path` since the newer ones are damaged.
    """
    paths = _sorted_paths(directory)
    for newer in paths[paths.index(path) + 1 :]:
        target = newer.with_name(f"{_DAMAGED}{newer.name}")
        if target.exists():
            shutil.rmtree(target)
        os.rename(newer, target)


def _describe(file: pathlib.Path, version: Mapping[str, int]) -> dict[str, Any]:
    return {
        "bytes": file.stat().st_size,
        "crc32": _checksum(file),
        "version": {name: int(count) for name, count in version.items()},
    }


def _checksum(file: pathlib.Path) -> int:
    checksum = 0
    with file.open("rb") as opened:
        for block in iter(lambda: opened.read(1 << 20), b""):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _sorted_paths(directory: pathlib.Path) -> list[pathlib.Path]:
    """Everything named like a checkpoint, oldest first."""
    return [path for _, path in listed(directory)]


def _fault(path: pathlib.Path, *, thorough: bool = False) -> str | None:
    """Says what is wrong with a checkpoint, or None."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text())
    except (OSError, ValueError) as error:
        return f"its {_MANIFEST} cannot be read ({type(error).__name__})"
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f"its {_MANIFEST} is not of format {_FORMAT!r}"
    return next(_faults_of_parts(path, manifest["parts"], thorough=thorough), None)


def _faults_of_parts(
    path: pathlib.Path, parts: Mapping[str, Mapping[str, Any]], *, thorough: bool
) -> Iterator[str]:
    for name, part in parts.items():
        file = path / name
        found = file.stat().st_size if file.exists() else 0
        if found != part["bytes"]:
            yield f"{name} has {found} bytes of {part['bytes']}"
        elif thorough and _checksum(file) != part["crc32"]:
            yield f"{name} is damaged: its checksum is another"
