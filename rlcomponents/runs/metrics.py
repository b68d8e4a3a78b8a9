"""Metrics as CSV: one file a node, one row a report, appended and read while it grows.

The files are the only channel from the nodes to the live view: workers append rows, the
coordinator reads all of them and appends to `program.csv`, the launcher reads that.

A row a second comes, in some days, to more than a node has memory for. So old rows are
streamed, one at a time, and the last one is found from the end of its file.
"""

import csv
import io
import itertools
import numbers
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO

import numpy as np

from rlcomponents.runs import append_file, atomic_files
from rlcomponents.runs import disk as disks

WORKER_COLUMNS = (
    "time_secs",
    "agent_steps",
    "episodes",
    "episode_return",
    "updates",
    "loss",
    "discarded_outlier",
    "discarded_lost",
    "discarded_nonfinite",
    "epsilon",
    "replay_items",
    "waiting",
)
"""Rows of one actor, learner or bundle; blank where not applicable."""

PROGRAM_COLUMNS = (
    "time_secs",
    "wall_secs",
    "agent_steps",
    "environment_frames",
    "updates",
    "episodes",
    "train_return",
    "evaluation_return",
    "mean_staleness_updates",
    "discarded_stale",
    "discarded_outlier",
    "discarded_lost",
    "discarded_nonfinite",
    "replay_items",
    "replay_capacity_items",
    "steps_per_sec",
    "frames_per_sec",
    "updates_per_sec",
    "waiting",
)
"""Rows of the whole program."""

EVALUATION_COLUMNS = (
    "time_secs",
    "wall_secs",
    "agent_steps",
    "updates",
    "episodes",
    "mean_return",
    "standard_error",
    "final",
)
"""Rows of evaluation.csv; `final` is 1 for the evaluation at the end, else 0.

`wall_secs`, steps and updates are those of the parameters, and `time_secs` is when all
games had been played.
"""

Row = dict[str, float | str | None]
"""A row as read: numbers as float, blank fields as None, all else as str."""

_BLOCK_BYTES = 4096  # Read at a time in search of a line's begin.


class MetricsWriter:
    """Appends rows to one CSV file, each on the disk's way before `write` returns.

    For one thread. Opening a file that exists goes on with it: a last line that a crash
    cut short is removed, so that every line of the file is a whole row. Rows that a
    full disk does not take are lost, and those after them come where there is room.
    """

    def __init__(
        self,
        path: pathlib.Path,
        columns: Sequence[str],
        *,
        disk: disks.Disk | None = None,
    ) -> None:
        """Opens the file, and writes the header if it is new.

        Args:
            path: The file; its folder is made if missing.
            columns: Names of the fields, in order.
            disk: Says where the file cannot be written. None: on the screen.

        Raises:
            ValueError: The file exists and has other columns.
        """
        self._path = path
        self._columns = tuple(columns)
        self._disk = disk or disks.Disk()
        self._file: append_file.AppendFile | None = None
        with self._disk.survived(str(path)):
            self._open()

    def write(self, row: Mapping[str, float | int | str | None]) -> bool:
        """Appends one row; columns that it lacks, or has as None, stay blank.

        Returns:
            Whether the disk took it; else it is lost.

        Raises:
            ValueError: The row has a key that is no column, or a value that is neither
                a number nor text.
        """
        unknown = [key for key in row if key not in self._columns]
        if unknown:
            raise ValueError(
                f"Unknown columns {unknown}: the file has {list(self._columns)}."
            )
        line = _line([_field(key, row.get(key)) for key in self._columns])
        with self._disk.survived(str(self._path)):
            self._open().append(line)
            return True
        return False

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> append_file.AppendFile:
        """Returns the file; opens it where that could not be done before."""
        if self._file is not None:
            return self._file
        header = _line(self._columns)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as found:
            size_bytes = found.seek(0, os.SEEK_END)
            whole_bytes = _line_begin(found, size_bytes)
            if whole_bytes < size_bytes:
                found.truncate(whole_bytes)
            found.seek(0)
            first = found.readline()
        if first and first != header:
            raise ValueError(
                f"{self._path} has the columns {first.decode().strip()}, not "
                f"{header.decode().strip()}: move it away, or go on with the version "
                "that wrote it."
            )
        file = append_file.AppendFile(self._path)
        if not first:
            try:
                file.append(header)
            except OSError:
                file.close()
                raise
        self._file = file
        return file


class MetricsFile:
    """Reads the rows of one growing CSV file, each once."""

    def __init__(self, path: pathlib.Path) -> None:
        """Names the file, which may appear later."""
        self._path = path
        self._offset_bytes = 0
        self._columns: list[str] | None = None

    def read_new(self) -> list[Row]:
        """Returns the rows written since the last call, oldest first.

        A last line without its end is left for later.

        Raises:
            ValueError: A line has more or fewer fields than the header.
        """
        return list(self.stream_new())

    def stream_new(self) -> Iterator[Row]:
        """Yields what `read_new` returns, and holds one row at a time.

        Rows that are not taken stay new.

        Raises:
            ValueError: See `read_new`.
        """
        for fields in csv.reader(self._new_lines()):
            if self._columns is None:
                self._columns = fields
            elif len(fields) != len(self._columns):
                raise ValueError(
                    f"{self._path} has a line of {len(fields)} fields under a header "
                    f"of {len(self._columns)}: {fields}."
                )
            else:
                yield dict(zip(self._columns, map(_parse, fields), strict=True))

    def read_newest(self) -> Row | None:
        """Returns the last of the new rows, and passes over the others; None if none.

        Raises:
            ValueError: The line has more or fewer fields than the header.
        """
        try:
            with self._path.open("rb") as file:
                end = _line_begin(file, file.seek(0, os.SEEK_END))
                begin = _line_begin(file, end - 1)
                if begin and self._columns is None:
                    file.seek(0)
                    self._columns = next(csv.reader([file.readline().decode()]))
        except FileNotFoundError:
            return None
        self._offset_bytes = max(self._offset_bytes, begin)
        rows = self.read_new()
        return rows[-1] if rows else None

    def _new_lines(self) -> Iterator[str]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset_bytes += len(line)
                yield line.decode()


class MetricsReader:
    """Reads the rows of all nodes as they come, also of nodes that start later."""

    def __init__(self, directory: pathlib.Path) -> None:
        """Names the folder of `<node>.csv`, which may appear later."""
        self._directory = directory
        self._files: dict[str, MetricsFile] = {}

    def read_new(self) -> list[tuple[str, Row]]:
        """Returns `(node, row)` of each row written since the last call.

        Nodes come in the order of their names, rows of a node in the order written.
        """
        return list(self.stream_new())

    def stream_new(self) -> Iterator[tuple[str, Row]]:
        """Yields what `read_new` returns, and holds one row at a time."""
        for path in self._directory.glob("*.csv"):
            self._files.setdefault(path.stem, MetricsFile(path))
        for node, file in sorted(self._files.items()):
            for row in file.stream_new():
                yield node, row


def read_last(path: pathlib.Path) -> Row:
    """Returns the last whole row of a file; an empty one where there is none."""
    return MetricsFile(path).read_newest() or {}


def cut(path: pathlib.Path, is_kept: Callable[[Row], bool]) -> None:
    """Drops the first row that is not kept, and all after it. Whole or not at all.

    Args:
        path: The file, which may be missing.
        is_kept: Says of a row whether it stays.
    """
    rows = enumerate(MetricsFile(path).stream_new())
    num_kept = next((index for index, row in rows if not is_kept(row)), None)
    if num_kept is not None:
        with path.open("rb") as file:
            kept_bytes = sum(map(len, itertools.islice(file, 1 + num_kept)))
            file.seek(0)
            kept = file.read(kept_bytes)
        atomic_files.write_bytes(path, kept)


def number(row: Mapping[str, float | str | None], column: str) -> float:
    """Returns a number of a row; 0 where the row has none."""
    value = row.get(column)
    return value if isinstance(value, float) else 0.0


def _line_begin(file: BinaryIO, end_bytes: int) -> int:
    """Returns where the line begins that goes on to a place; looks from there back."""
    while end_bytes > 0:
        begin_bytes = max(0, end_bytes - _BLOCK_BYTES)
        file.seek(begin_bytes)
        index = file.read(end_bytes - begin_bytes).rfind(b"\n")
        if index >= 0:
            return begin_bytes + index + 1
        end_bytes = begin_bytes
    return 0


def _line(fields: Sequence[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(fields)
    return buffer.getvalue().encode()


def _field(column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())  # A line break would end the row.
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return str(int(value))
    if isinstance(value, np.floating):
        return str(value)  # float32 0.1 is 0.1, not 0.10000000149011612.
    if isinstance(value, numbers.Real):
        return repr(float(value))
    raise ValueError(
        f"Column {column!r} was given {value!r} of type {type(value).__name__}: give a "
        "number, text or None."
    )


def _parse(field: str) -> float | str | None:
    if not field:
        return None
    try:
        return float(field)
    except ValueError:
        return field
