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
    fail, and one when all of them write again. Of what a program's nodes say the
    launcher shows one line, too: see `rlcomponents.launching.screen`.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        """Expects no trouble.

        Args:
            say: Takes the lines, such as `print`, for the log alone. None: they go to
                the user's screen.
        """
        self._say = say
        self._pulse = pulse.current()  # Of the node; its threads are in none.
        self._failing: set[str] = set()
        self._said = ""  # What began to fail.

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
                self._said = what
                self._tell(cannot_write(what, error))
            self._failing.add(what)
        else:
            if what in self._failing:
                self._failing.remove(what)
                if not self._failing:
                    self._tell(can_write(self._said))

    def _tell(self, news: pulse.DiskNews) -> None:
        if self._say is None:
            self._pulse.say_of_disk(news)
        else:
            self._say(news.line)


def cannot_write(what: str, error: OSError) -> pulse.DiskNews:
    """Says that writing begins to fail."""
    return pulse.DiskNews(
        what,
        True,
        f"CANNOT WRITE {what}: {error.strerror}. Training goes on; what would be "
        "written now is lost, until it can be written again.",
    )


def can_write(what: str) -> pulse.DiskNews:
    """Says that what failed is written again."""
    return pulse.DiskNews(what, False, f"{what} can be written again.")
