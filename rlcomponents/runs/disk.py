"""A disk that takes no more: training goes on, and one line says so.

A full disk, a quota, a folder that was made read-only: none of them is a reason to end
a run of days. What cannot be written is lost, and writing is tried again each time.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator

from rlcomponents import pulse

_TAKES_NO_MORE = frozenset(
    (
        errno.EACCES,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.ENOSPC,
        errno.EPERM,
        errno.EROFS,
        errno.ESTALE,
    )
)


class Disk:
    """The disk as one node's writers see it. For one thread.

    Writers that share one of these say one line between them when writing begins to
    fail, and one when all of them write again.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        """Expects no trouble.

        Args:
            say: Takes the lines. None: they go to the user's screen. Of a program's
                nodes one should say it there, and the others in their logs (`print`).
        """
        self._say = say or pulse.current().say
        self._failing: set[str] = set()

    @contextlib.contextmanager
    def survived(self, what: str) -> Iterator[None]:
        """Lets what is inside write, and outlives a disk that does not take it.

        Args:
            what: What is written, such as a file's path.
        """
        try:
            yield
        except OSError as error:
            if error.errno not in _TAKES_NO_MORE:
                raise
            if not self._failing:
                self._say(
                    f"CANNOT WRITE {what}: {error.strerror}. Training goes on; what "
                    "would be written now is lost, until there is room again."
                )
            self._failing.add(what)
        else:
            if what in self._failing:
                self._failing.remove(what)
                if not self._failing:
                    self._say(f"{what} can be written again.")
