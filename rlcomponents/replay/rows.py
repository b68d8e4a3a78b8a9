"""Rows of observations in memory, one an agent step; the oldest ones are dropped.

Rows lie in blocks that are allocated when they are reached and used again when all of
their rows are dropped. So memory is what the rows between the oldest and the newest
take, however many rows the items of a replay come to.

Pure NumPy. What a row has in each column, `ObservationLayout` says.
"""

import io
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from rlcomponents import aligned_arrays
from rlcomponents.replay import frames as replay_frames
from rlcomponents.replay import layout as replay_layout

_BLOCK_BYTES = 2**20

Block = tuple[np.ndarray, ...]
"""One array a column, `[rows of a block, *shape]`."""


class RowStore:
    """Rows by their number, counted from 0 on for ever. Not thread-safe.

    Attributes:
        begin: Number of the oldest row.
        end: Number that the next row gets.
    """

    def __init__(self, layout: replay_layout.ObservationLayout) -> None:
        """Starts empty."""
        self._layout = layout
        row_bytes = sum(
            column.dtype.itemsize * int(np.prod(column.shape))
            for column in layout.columns
        )
        self._block_rows = max(16, _BLOCK_BYTES // max(1, row_bytes))
        self._blocks: dict[int, Block] = {}
        self._spare: list[Block] = []
        self.begin = 0
        self.end = 0

    def append(self, row: Sequence[np.ndarray | None]) -> int:
        """Copies a row, one entry a column; returns its number."""
        block, index = self._find(self.end)
        for values, entry in zip(block, row, strict=True):
            if entry is not None:
                values[index] = entry
        self.end += 1
        return self.end - 1

    def drop_before(self, number: int) -> None:
        """Drops the rows before a number."""
        for block in range(self.begin // self._block_rows, number // self._block_rows):
            self._spare.append(self._blocks.pop(block))
        del self._spare[1:]
        self.begin = number

    def drop_from(self, number: int) -> None:
        """Drops the newest rows, from a number on, which is then given once more."""
        self.end = number

    def observations(self, rows: np.ndarray, first_rows: np.ndarray) -> list:
        """Returns observations, stacked again.

        Args:
            rows: `[B]`, numbers of the newest rows of each.
            first_rows: `[B]`, numbers of the first rows of their episodes, which stand
                for what was before.

        Returns:
            One new array a column, `[B, *observed_shape]`.
        """
        batch = [
            aligned_arrays.empty((len(rows), *column.observed_shape), column.dtype)
            for column in self._layout.columns
        ]
        pairs = list(zip(rows.tolist(), first_rows.tolist(), strict=True))
        for index, (column, out) in enumerate(
            zip(self._layout.columns, batch, strict=True)
        ):
            if column.num_frames is None:
                for item, (row, _) in enumerate(pairs):
                    block, place = self._find(row)
                    out[item] = block[index][place]
                continue
            stacks = out.reshape(len(pairs), -1, column.num_frames)
            for item, (row, first_row) in enumerate(pairs):
                frames = self._frames(index, row, first_row, column.num_frames)
                replay_frames.stack(frames.reshape(column.num_frames, -1), stacks[item])
        return batch

    def write(self, column: int, file: IO[bytes]) -> None:
        """Writes a column as `np.load` reads it, `[num_rows, *shape]`; copies none."""
        layout = self._layout.columns[column]
        write_header(file, layout.dtype, (self.end - self.begin, *layout.shape))
        for values in self._pieces(column, self.begin):
            file.write(values.data)

    def read(self, columns: Sequence[IO[bytes]], begin: int, keep_from: int) -> None:
        """Reads what `write` wrote, into a store that is empty.

        Args:
            columns: A file each.
            begin: Number of the first row in the files.
            keep_from: Number of the first row that is wanted.

        Raises:
            ValueError: The files are of other columns, or too short.
        """
        ends = set()
        self.begin = keep_from
        for index, (file, layout) in enumerate(
            zip(columns, self._layout.columns, strict=True)
        ):
            shape, dtype = read_header(file)
            if (dtype, shape[1:]) != (layout.dtype, layout.shape):
                raise ValueError(
                    f"{layout.name} was saved as {dtype}{shape[1:]}; here it is "
                    f"{layout.dtype}{layout.shape}"
                )
            self.end = begin + shape[0]
            ends.add(self.end)
            row_bytes = layout.dtype.itemsize * int(np.prod(layout.shape))
            file.seek((keep_from - begin) * row_bytes, io.SEEK_CUR)
            for values in self._pieces(index, keep_from):
                values[...] = np.frombuffer(
                    _read(file, values.nbytes), layout.dtype
                ).reshape(values.shape)
        if len(ends) > 1:
            raise ValueError("its columns are of different lengths")

    def _frames(
        self, column: int, row: int, first_row: int, num_frames: int
    ) -> np.ndarray:
        """Returns the frames of a stack, `[num_frames, *shape]`; a view or a copy."""
        block, place = self._find(row)
        begin = place - num_frames + 1
        if begin >= 0 and row - num_frames + 1 >= first_row:
            return block[column][begin : place + 1]
        places = [
            self._find(max(number, first_row))
            for number in range(row - num_frames + 1, row + 1)
        ]
        return np.stack([block[column][place] for block, place in places])

    def _find(self, number: int) -> tuple[Block, int]:
        """Returns the block of a row, and its place in there."""
        block, place = divmod(number, self._block_rows)
        if block not in self._blocks:
            self._blocks[block] = self._spare.pop() if self._spare else self._allocate()
        return self._blocks[block], place

    def _allocate(self) -> Block:
        return tuple(
            np.zeros((self._block_rows, *column.shape), column.dtype)
            for column in self._layout.columns
        )

    def _pieces(self, column: int, begin: int) -> Iterator[np.ndarray]:
        """Yields the rows of a column from a number on, a view a block."""
        while begin < self.end:
            block, place = self._find(begin)
            num_rows = min(self._block_rows - place, self.end - begin)
            yield block[column][place : place + num_rows]
            begin += num_rows


def write_header(file: IO[bytes], dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Writes what an array's file begins with."""
    np.lib.format.write_array_header_1_0(
        file,
        {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": shape,
        },
    )


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Returns shape and dtype of an array from the beginning of its file.

    Raises:
        ValueError: It is no array, or one that only pickle could read.
    """
    np.lib.format.read_magic(file)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if is_fortran or dtype.hasobject:
        raise ValueError("an array in it is of another kind")
    return shape, dtype


def _read(file: IO[bytes], num_bytes: int) -> bytes:
    payload = file.read(num_bytes)
    if len(payload) != num_bytes:
        raise ValueError("a column is too short")
    return payload
