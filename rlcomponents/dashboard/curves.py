"""Learning curves for the page: as many points as can be told apart, only when new."""

import pathlib
from typing import NamedTuple

import numpy as np

from rlcomponents.runs import curve, metrics, run_folder

MAX_POINTS = 500
"""Of one curve; more cannot be told apart on a screen."""

_Point = tuple[float, float, float]


class Source(NamedTuple):
    """Where a curve comes from.

    Attributes:
        value: Column of the returns.
        error: Column of their standard error. None: there is none.
        missing: What is missing while there are no rows.
    """

    value: str
    error: str | None
    missing: str


SOURCES = {
    "evaluation": Source("mean_return", "standard_error", "no evaluation yet"),
    "training": Source("train_return", None, "no training episode has ended yet"),
}
"""What can be drawn."""


class GrowingRows:
    """Rows of a CSV file that grows; those read once are kept.

    A resumed run cuts its files, and then they are read anew.
    """

    def __init__(self, path: pathlib.Path) -> None:
        """Names the file, which may appear later, or vanish."""
        self._path = path
        self._num_starts = 0
        self._inode, self._size_bytes = -1, 0
        self._file = metrics.MetricsFile(path)
        self._rows: list[metrics.Row] = []

    @property
    def version(self) -> str:
        """Another one whenever the rows are not what they were."""
        return f"{self._num_starts}.{len(self._rows)}"

    def read(self) -> list[metrics.Row]:
        """Returns all whole rows, oldest first.

        Raises:
            ValueError: A line has more or fewer fields than the header.
            OSError: The file cannot be read.
            csv.Error: It is no CSV file.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            if self._rows:
                self._restart()
            return []
        if found.st_ino != self._inode or found.st_size < self._size_bytes:
            self._restart()
        self._inode, self._size_bytes = found.st_ino, found.st_size
        try:
            self._rows += self._file.read_new()
        except Exception:
            self._restart()  # So that the next call says the same.
            raise
        return self._rows

    def _restart(self) -> None:
        self._num_starts += 1
        self._inode, self._size_bytes = -1, 0
        self._file = metrics.MetricsFile(self._path)
        self._rows = []


class RunCurves:
    """The curves of one run. For one thread.

    Attributes:
        program: Rows of `program.csv` so far.
        evaluations: Rows of `evaluation.csv` so far.
    """

    def __init__(self, folder: run_folder.RunFolder) -> None:
        """Reads nothing yet."""
        self.program = GrowingRows(folder.program_csv)
        self.evaluations = GrowingRows(folder.evaluation_csv)

    def points(self, of: str, over: str) -> list[_Point]:
        """Returns at most `MAX_POINTS`: position, return, its standard error or NaN.

        Args:
            of: One of `SOURCES`.
            over: One of `rlcomponents.runs.curves.AXES`.

        Raises:
            ValueError: There are none; or a file has none of these columns.
        """
        source = SOURCES[of]
        rows = self._rows(of)
        column, scale = over, 1.0
        if of == "evaluation" and over == "environment_frames":
            # Evaluations count steps; a step's frames do not vary.
            column, scale = "agent_steps", self._frames_per_step()
        columns = ("agent_steps", source.value, column, source.error or column)
        missing = [name for name in columns if rows and name not in rows[0]]
        if missing:
            raise ValueError(f"The run's rows have no column {missing[0]!r}.")
        values = curve.columns_of(rows, columns)  # [num_rows, 4]
        if not len(values):
            raise ValueError(source.missing)
        values = thinned(values)
        errors = values[:, 3] if source.error else np.full(len(values), np.nan)
        return list(zip(values[:, 2] * scale, values[:, 1], errors, strict=True))

    def version(self, of: str) -> str:
        """Another one whenever the curve is not what it was."""
        self._rows(of)
        return (self.evaluations if of == "evaluation" else self.program).version

    def _rows(self, of: str) -> list[metrics.Row]:
        return (self.evaluations if of == "evaluation" else self.program).read()

    def _frames_per_step(self) -> float:
        rows = self.program.read()
        frames = curve.frames_per_step(rows[-1]) if rows else None
        if frames is None:
            raise ValueError("no step is counted yet")
        return frames


def thinned(rows: np.ndarray) -> np.ndarray:
    """Returns at most `MAX_POINTS` rows at equal distances, with the first and last."""
    if len(rows) <= MAX_POINTS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MAX_POINTS).round().astype(int)]
