"""Memory that the processes of one host share, without a name.

It is a memfd: a file in memory that no path leads to. Its creator keeps it open; other
processes open it through the creator's entry in `/proc`, or through their own where
they have inherited what the creator has `kept_open`: the kernel keeps a process in a
user namespace from looking into one outside. Whatever way the processes end, SIGKILL
included, the memory is freed when the last of them is gone: there is no file to unlink
and no resource tracker. `multiprocessing.shared_memory` has both, and on Python 3.10
every process that attaches unlinks the block when it ends.

Linux only.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import struct
import threading
import weakref
from collections.abc import Iterator

_NAME = "rlcomponents"
"""Shown in `/proc/<pid>/maps`; need not be unique and opens nothing."""


_kept_open: set[int] = set()


def kept_open() -> tuple[int, ...]:
    """Returns the descriptors of what this process has created, for its children."""
    return tuple(_kept_open)


class SharedMemory:
    """A handle of memory of no size yet: pickle it, open it elsewhere.

    Nodes get it as an argument. The memory can be opened as long as its creator lives
    and has not closed it; who has opened or inherited it keeps it, whatever becomes of
    the creator.
    """

    def __init__(self, creator_pid: int, fd: int, inode: int) -> None:
        """Names memory that exists; `create` makes some.

        Args:
            creator_pid: The process that keeps it open.
            fd: Under which number it does so.
            inode: Tells the memory from a file that has the number later.
        """
        self._creator_pid = creator_pid
        self._fd = fd
        self._inode = inode
        self._let_go: weakref.finalize | None = None

    @classmethod
    def create(cls) -> "SharedMemory":
        """Makes empty memory, kept until `close`, or until this object is let go."""
        fd = os.memfd_create(_NAME)
        handle = cls(os.getpid(), fd, os.fstat(fd).st_ino)
        _kept_open.add(fd)
        handle._let_go = weakref.finalize(handle, _let_go, fd)
        return handle

    def open(self) -> "OpenMemory":
        """Opens the memory, in any process of this host and user.

        Raises:
            FileNotFoundError: The creator has ended, or has closed it.
        """
        for process in ("self", self._creator_pid):
            path = f"/proc/{process}/fd/{self._fd}"
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if not os.readlink(path).startswith(f"/memfd:{_NAME}"):
                    continue
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                if os.fstat(fd).st_ino == self._inode:
                    return OpenMemory(fd)
                os.close(fd)
        raise FileNotFoundError(
            errno.ENOENT,
            f"The shared memory of process {self._creator_pid} is gone: the process "
            "has ended or closed it. Create it in a process that outlives the nodes",
        )

    def close(self) -> None:
        """Lets the memory go, in the process that created it; others keep theirs.

        Raises:
            ValueError: This handle came from another process or copy.
        """
        if self._let_go is None:
            raise ValueError(
                f"This is a copy of a handle of process {self._creator_pid}: close the "
                "one that create returned."
            )
        self._let_go()

    def __reduce__(self) -> tuple[type, tuple[int, int, int]]:
        return type(self), (self._creator_pid, self._fd, self._inode)


def _let_go(fd: int) -> None:
    _kept_open.discard(fd)
    os.close(fd)


class OpenMemory:
    """Shared memory, opened: can be grown, mapped and locked. Thread-safe.

    Freed, with its locks, when this object and all that was mapped is let go. Open it
    once for each user that needs locks of its own.
    """

    def __init__(self, fd: int) -> None:
        """Takes over an open file."""
        self._fd = fd
        # The kernel's locks tell openings apart, not the threads that use one.
        self._threads = threading.RLock()
        weakref.finalize(self, os.close, fd)

    @property
    def size_bytes(self) -> int:
        """The size now."""
        return os.fstat(self._fd).st_size

    def grow(self, size_bytes: int) -> None:
        """Makes the memory at least so large; what is new is 0.

        The pages are there afterwards. Never shrinks it, whoever grows it meanwhile.
        """
        os.posix_fallocate(self._fd, 0, size_bytes)

    def map(self, start_bytes: int, size_bytes: int) -> mmap.mmap:
        """Maps a part, to be read and written.

        Args:
            start_bytes: A multiple of `mmap.ALLOCATIONGRANULARITY`.
            size_bytes: Up to the end of the memory at most.
        """
        return mmap.mmap(self._fd, size_bytes, offset=start_bytes)

    @contextlib.contextmanager
    def locked(self, lock: int) -> Iterator[None]:
        """Holds one of the memory's locks, against all threads and processes.

        Args:
            lock: Its number, 0 or more. The kernel frees it if the process dies.
        """
        with self._threads:
            self._set_lock(fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, lock)
            try:
                yield
            finally:
                self._set_lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, lock)

    def try_lock(self, lock: int) -> bool:
        """Takes a lock for as long as the memory is open, unless another has it.

        Args:
            lock: Its number, 0 or more. Not one that `locked` is used with.

        Returns:
            Whether it was free.
        """
        try:
            self._set_lock(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, lock)
        except BlockingIOError:
            return False
        return True

    def _set_lock(self, command: int, kind: int, lock: int) -> None:
        """Asks for a lock on one byte, held by this opening and not by the process."""
        where = struct.pack("hhqqi4x", kind, os.SEEK_SET, lock, 1, 0)  # struct flock
        fcntl.fcntl(self._fd, command, where)
