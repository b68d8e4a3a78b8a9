"""Named arrays in a file, read without pickle, replaced whole or not at all.

The files are `.npz` as `numpy.load` reads them. Snapshots and checkpoints are made of
them. One from elsewhere can be wrong, but it cannot run code.
"""

import contextlib
import os
import pathlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

_SUFFIX = ".npy"
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    ValueError,
)


def write(path: pathlib.Path, arrays: Mapping[str, np.ndarray | int]) -> None:
    """Writes a file; one that is there is overwritten.

    Raises:
        ValueError: An array needs pickle. (`numpy.savez` would pickle it unasked.)
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + _SUFFIX, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def replace(path: pathlib.Path, arrays: Mapping[str, np.ndarray | int]) -> None:
    """Replaces a file: whoever reads it finds the old arrays or the new ones.

    Survives the death of the process at any moment, though not a power cut: nothing is
    forced to the disk. One process at a time writes to a path.

    Raises:
        ValueError: See `write`.
        OSError: The disk is full or not to be written; the old file is still there.
    """
    with replacing(path) as aside:
        write(aside, arrays)


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields where to write a file that becomes the one at `path`; see `replace`."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        yield aside
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Returns all arrays of a file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is torn, damaged or something else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                name.removesuffix(_SUFFIX): _read_array(archive, name)
                for name in archive.namelist()
            }
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged or no file of arrays: {error}.") from error


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # Reads to the end, where the checksum is looked at.
            raise ValueError(f"{name} is longer than its array")
    return array
