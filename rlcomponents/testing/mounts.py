"""Makes a folder read-only for a running program that has mounts of its own.

Standard library only; the kernel is asked from inside the program's namespaces.
"""

import contextlib
import errno
import fcntl
import os
import pathlib
from collections.abc import Iterator

from rlcomponents.testing import namespaces

# Of <linux/mount.h>, <sys/mount.h> and <linux/nsfs.h>.
_READ_ONLY, _REMOUNT, _BIND, _DETACH = 1, 32, 4096, 2
_GET_USER_NAMESPACE = 0xB701
_KEPT_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # As in <sys/mount.h>.


@contextlib.contextmanager
def read_only(pid: int, folder: pathlib.Path) -> Iterator[None]:
    """Lets nobody in the program make or open a file to write inside the block.

    The folder is mounted onto itself, read-only: the kernel makes no file system
    read-only in which files are open for writing, and a program has logs. Those that
    are open can be written on, as when permissions are taken away.

    Args:
        pid: A process of the program.
        folder: As this process sees it.

    Raises:
        OSError: The program has this process's mounts, or the kernel refuses.
    """
    with contextlib.ExitStack() as opened:

        def open_file(path: str | pathlib.Path, flags: int) -> int:
            descriptor = os.open(path, flags)
            opened.callback(os.close, descriptor)
            return descriptor

        mounts = open_file(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
        if _is_own(mounts, "mnt"):  # Never the machine's own mounts.
            raise OSError(errno.EPERM, "The program has no mounts of its own")
        owner = fcntl.ioctl(mounts, _GET_USER_NAMESPACE)
        opened.callback(os.close, owner)
        entered = [mounts] if _is_own(owner, "user") else [owner, mounts]
        inside = f"/proc/self/fd/{open_file(folder, os.O_PATH)}"
        namespaces.call_in(
            entered,
            lambda: _mount_read_only(os.readlink(inside)),
            f"{folder} made read-only",
        )
        try:
            yield
        finally:
            namespaces.call_in(
                entered,
                lambda: _unmount(os.readlink(inside)),
                f"{folder} made writable",
            )


def _is_own(namespace: int, name: str) -> bool:
    return os.path.samestat(os.fstat(namespace), os.stat(f"/proc/self/ns/{name}"))


def _mount_read_only(path: str) -> None:
    libc, name = namespaces.libc(), os.fsencode(path)
    namespaces.check(libc.mount(name, name, None, _BIND, None))
    # What the mount forbids already may not be allowed by the way.
    flags = _REMOUNT | _BIND | _READ_ONLY | (os.statvfs(path).f_flag & _KEPT_FLAGS)
    try:
        namespaces.check(libc.mount(None, name, None, flags, None))
    except OSError:
        _unmount(path)
        raise


def _unmount(path: str) -> None:
    # Whoever has files open there keeps them.
    namespaces.check(namespaces.libc().umount2(os.fsencode(path), _DETACH))
