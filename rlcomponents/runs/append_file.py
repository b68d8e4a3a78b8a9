"""A file that only grows, by whole records: also where the disk is full for a while."""

import errno
import os
import pathlib


class AppendFile:
    """Appends records, each whole or not at all. For one thread."""

    def __init__(self, path: pathlib.Path) -> None:
        """Opens the file, or makes it.

        Raises:
            OSError: It cannot be written.
        """
        # Unbuffered: a buffer would keep what the disk did not take, and mix it with
        # later records.
        self._file = path.open("ab", buffering=0)
        self._size_bytes = self._file.seek(0, os.SEEK_END)
        self._torn = False

    def append(self, record: bytes) -> None:
        """Hands a record to the system, which keeps it whatever becomes of the process.

        Raises:
            OSError: The disk did not take it, or only a part, which is removed again.
        """
        self._repair()
        num_bytes = self._file.write(record)
        if num_bytes == len(record):
            self._size_bytes += num_bytes
            return
        self._torn = True
        self._repair()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._file.name)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _repair(self) -> None:
        if self._torn:
            self._file.truncate(self._size_bytes)
            self._torn = False
