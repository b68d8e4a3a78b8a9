"""Saved states of a run: a crash at any moment leaves the last good one in place.

    checkpoints/step_000000012345/
        manifest.json        sizes of the parts, and the facts (counters and the like)
        <part>.npz           named arrays, e.g. of one parameter shard

A checkpoint is written under another name, forced to the disk and renamed; older ones
are removed only after that. Arrays are read without pickle: a checkpoint from elsewhere
can be wrong, but it cannot run code.
"""

import json
import os
import pathlib
import re
import shutil
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlcomponents.runs import atomic_files

_FORMAT = "rlcomponents 1"
_MANIFEST = "manifest.json"
_NAME = re.compile(r"step_(\d{12,})(?:-(\d+))?")
_PART = re.compile(r"[A-Za-z0-9_.-]+")

Parts = Mapping[str, Mapping[str, np.ndarray]]


def save(
    directory: pathlib.Path,
    *,
    agent_steps: int,
    parts: Parts,
    facts: Mapping[str, Any],
    num_kept: int = 2,
) -> pathlib.Path:
    """Saves a checkpoint, then removes all but the newest ones.

    One process saves to a directory at a time.

    Args:
        directory: Where checkpoints lie; made if missing.
        agent_steps: Global agent steps; the newest checkpoint is the one with most.
        parts: Named arrays of each part, e.g. `{"shard_0": {"vector": ...}}`.
        facts: Whatever JSON holds exactly: counters, names, seeds.
        num_kept: Intact checkpoints to keep, this one included.

    Returns:
        The folder of the checkpoint: `step_<agent steps>`, with the suffix `-2` if the
        directory holds a checkpoint of this step already.

    Raises:
        ValueError: A part has no proper file name, an array needs pickle, or `facts`
            holds a NaN or an infinity.
    """
    if num_kept < 1:
        raise ValueError(f"num_kept must be at least 1, not {num_kept}.")
    for name in parts:
        if not _PART.fullmatch(name):
            raise ValueError(
                f"A part is named {name!r}: use letters, digits, '_', '-' and '.' only."
            )
    directory.mkdir(parents=True, exist_ok=True)
    for leftover in directory.glob(".step_*.tmp"):  # Of a save that was cut short.
        shutil.rmtree(leftover)
    path = _free_path(directory, agent_steps)
    aside = directory / f".{path.name}.tmp"
    aside.mkdir()
    for name, arrays in parts.items():
        _write_arrays(aside / f"{name}.npz", arrays)
    sizes = {name: (aside / f"{name}.npz").stat().st_size for name in parts}
    manifest = {
        "format": _FORMAT,
        "agent_steps": int(agent_steps),
        "part_bytes": sizes,
        "facts": dict(facts),
    }
    atomic_files.write_json(aside / _MANIFEST, manifest)
    atomic_files.publish(aside, path)

    intact = [other for other in _sorted_paths(directory) if not _fault(other)]
    for old in intact[:-num_kept]:
        if old != path:
            # Out of sight first: a removal that is cut short leaves no torn checkpoint.
            hidden = directory / f".{old.name}.tmp"
            os.rename(old, hidden)
            shutil.rmtree(hidden)
    return path


def latest(directory: pathlib.Path) -> pathlib.Path | None:
    """Returns the intact checkpoint with most agent steps, or None if there is none.

    Prints one sentence for each newer one that is torn or not ours.
    """
    for path in reversed(_sorted_paths(directory)):
        fault = _fault(path)
        if not fault:
            return path
        print(f"Skipping the checkpoint {path}: {fault}.", flush=True)
    return None


def load(
    path: pathlib.Path,
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
    """Reads a checkpoint.

    Returns:
        `(parts, facts)` as they were saved; tuples in the facts come back as lists.

    Raises:
        ValueError: The checkpoint is torn, damaged or not ours.
    """
    fault = _fault(path)
    if fault:
        raise ValueError(f"The checkpoint {path} cannot be read: {fault}.")
    manifest = json.loads((path / _MANIFEST).read_text())
    parts = {}
    for name in manifest["part_bytes"]:
        file = path / f"{name}.npz"
        try:
            with np.load(file, allow_pickle=False) as arrays:
                parts[name] = {key: arrays[key] for key in arrays.files}
        except zipfile.BadZipFile as error:
            raise ValueError(f"{file} is damaged: {error}.") from error
    return parts, manifest["facts"]


def _write_arrays(path: pathlib.Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes what `np.load` reads; `np.savez` would pickle objects unasked."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
    atomic_files.sync(path)


def _free_path(directory: pathlib.Path, agent_steps: int) -> pathlib.Path:
    name = f"step_{agent_steps:012d}"
    path = directory / name
    number = 1
    while path.exists():
        number += 1
        path = directory / f"{name}-{number}"
    return path


def _sorted_paths(directory: pathlib.Path) -> list[pathlib.Path]:
    """Everything named like a checkpoint, oldest first."""
    found = []
    for path in directory.glob("step_*"):
        match = _NAME.fullmatch(path.name)
        if match:
            found.append((int(match[1]), int(match[2] or 1), path))
    return [path for _, _, path in sorted(found)]


def _fault(path: pathlib.Path) -> str | None:
    """Says what is wrong with a checkpoint, or None."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text())
    except (OSError, ValueError) as error:
        return f"its {_MANIFEST} cannot be read ({type(error).__name__})"
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f"its {_MANIFEST} is not of format {_FORMAT!r}"
    for name, num_bytes in manifest["part_bytes"].items():
        file = path / f"{name}.npz"
        found = file.stat().st_size if file.exists() else 0
        if found != num_bytes:
            return f"{file.name} has {found} bytes of {num_bytes}"
    return None
