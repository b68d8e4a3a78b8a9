"""What a node says of itself to whoever watches: that it works, and what it waits for.

Components call this at no cost, whether somebody watches or not: counting a step is one
addition. Under our launcher each node's process sends what is noted here over its pipe
once a second. In a thread of its own (`local_mt`) each node has a pulse of its own.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

_SAME_WAIT_SECS = 0.25  # Less than who asks now and then pauses, as an evaluator.


class FatalError(RuntimeError):
    """Raised by a node that no new start would help: the program is to end."""


class DiskNews(NamedTuple):
    """That the disk does not take something, or takes it again.

    Attributes:
        what: It is written, such as a file's path.
        fails: Whether that fails now. Said once of each `what`, until it is said that
            it works again.
        line: The same in words for the user.
    """

    what: str
    fails: bool
    line: str


class Pulse:
    """Noted by one node's main thread, read by whoever watches.

    Attributes:
        starts: How often the node was started before within its program.
        steps: Steps of its work that it has completed since this start. What a step is,
            the node says: an agent step, a gradient, a call answered.
        is_stepping: Whether one step is to follow another by itself, as in a loop, but
            not in a server. Where none does, and nothing is waited for, the node hangs.
        is_starting: Whether it still builds what it works with: imports, networks,
            environments.
        numbers: What it shows of its work, as of now; see `show`.
        waiting_for: What it waits for, in words that name the peer: "replay/0: 120 of
            1000 items". None while it works.
        waiting_since_secs: Since when, by `time.monotonic`.
    """

    def __init__(
        self,
        *,
        starts: int = 0,
        say: Callable[[str], None] | None = None,
        say_of_disk: Callable[[DiskNews], None] | None = None,
    ) -> None:
        """Begins at rest.

        Args:
            starts: See the class.
            say: Shows the user one line. None: `print`.
            say_of_disk: Takes news of the disk. None: `say` shows their lines.
        """
        self.starts = starts
        self.steps = 0
        self.is_stepping = False
        self.is_starting = False
        self.numbers: dict[str, float | None] = {}
        self.waiting_for: str | None = None
        self.waiting_since_secs = 0.0
        self._last_wait: tuple[str, int] | None = None
        self._last_wait_start_secs = self._last_wait_end_secs = 0.0
        self._say = say or print
        self._say_of_disk = say_of_disk

    def completed_step(self) -> None:
        """Notes that a step of the work is done. Not for a turn that only waited."""
        self.steps += 1

    def show(self, **numbers: float | None) -> None:
        """Shows numbers to whoever watches; the others stay as they were.

        Costs next to nothing, so counts may be shown whenever they change.

        Args:
            **numbers: By the names that `runs.node_table.SHOWN` lists. None: there is
                none now.
        """
        self.numbers.update(numbers)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Notes that inside the block the node builds what it works with."""
        self.is_starting = True
        try:
            yield
        finally:
            self.is_starting = False

    @contextlib.contextmanager
    def stepping(self) -> Iterator[None]:
        """Notes that inside the block one step is to follow another by itself."""
        previous = self.is_stepping
        self.is_stepping = True
        try:
            yield
        finally:
            self.is_stepping = previous

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Notes what is waited for inside the block. The innermost counts.

        A loop that waits for the same peer again and again, a little each time, and
        meanwhile completes no step, has waited since the first time.

        Args:
            what: The peer's name, and after a colon what of it: that part may change.
        """
        previous = self.waiting_for, self.waiting_since_secs
        now_secs = time.monotonic()
        wait = what.partition(":")[0], self.steps
        pause_secs = now_secs - self._last_wait_end_secs
        if wait != self._last_wait or pause_secs > _SAME_WAIT_SECS:
            self._last_wait, self._last_wait_start_secs = wait, now_secs
        self.waiting_since_secs = self._last_wait_start_secs
        self.waiting_for = what
        try:
            yield
        finally:
            self.waiting_for, self.waiting_since_secs = previous
            self._last_wait_end_secs = time.monotonic()

    def say(self, line: str) -> None:
        """Shows the user one line on the screen, whatever becomes of the log files."""
        self._say(line)

    def say_of_disk(self, news: DiskNews) -> None:
        """Tells the user of a disk that fails or works again.

        Nodes share a disk: under our launcher one line is shown of all that say so.
        """
        if self._say_of_disk is None:
            self._say(news.line)
        else:
            self._say_of_disk(news)


class _PulseOfThread(threading.local):
    pulse: Pulse | None = None


_of_process = Pulse()
_of_thread = _PulseOfThread()


def current() -> Pulse:
    """Returns the pulse of the node that the calling thread works for."""
    return _of_thread.pulse or _of_process


def use_in_this_process(pulse: Pulse) -> None:
    """Gives all threads of this process a pulse: there is one node in it."""
    global _of_process
    _of_process = pulse


def use_in_this_thread(pulse: Pulse) -> None:
    """Gives the calling thread a pulse of its own: one of several nodes here."""
    _of_thread.pulse = pulse
