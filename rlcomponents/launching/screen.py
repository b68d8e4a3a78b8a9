"""What the user sees while a program runs: the live view, and lines that are loud.

A screen may fail: it is a file on a full disk, or a terminal that is gone. That ends no
program. Only where nobody reads any more, as after `| head`, nobody waits for it.
"""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator

from rlcomponents import pulse

_SAME_LINE_SECS = 30.0


class Screen:
    """Calls what shows things, in the launcher's thread.

    Attributes:
        error: What the live view raised that ends the program; None while it works.
    """

    def __init__(
        self,
        on_tick: Callable[[], None] | None,
        on_message: Callable[[str], None] | None,
    ) -> None:
        """Shows nothing yet.

        Args:
            on_tick: Brings the live view up to date.
            on_message: Shows one line at once. None: prints it on stderr.
        """
        self._on_tick = on_tick
        self._on_message = on_message or _print
        self._view_has_failed = False
        self._shown_secs: dict[str, float] = {}  # When each line was last shown.
        self._failing: set[tuple[str, str]] = set()  # Node, and what it cannot write.
        self.error: Exception | None = None

    def say(self, line: str) -> None:
        """Shows a line at once."""
        with contextlib.suppress(OSError):  # Nobody is left to be told.
            self._on_message(line)

    def show(self, node: str, message: str | pulse.DiskNews) -> None:
        """Shows what a node has to say.

        That the disk fails is shown of the first of all nodes that says so, and that it
        works, of the last.
        """
        if isinstance(message, str):
            self.say_now_and_then(f"{node}: {message}")
            return
        failed_before = bool(self._failing)
        if message.fails:
            self._failing.add((node, message.what))
        else:
            self._failing.discard((node, message.what))
        if bool(self._failing) != failed_before:
            self.say(f"{node}: {message.line}")

    def forget(self, node: str) -> None:
        """Expects nothing of what a node could not write: it starts anew."""
        self._failing = {failing for failing in self._failing if failing[0] != node}

    def say_now_and_then(self, line: str) -> None:
        """Shows a line, but one and the same only once in a while."""
        now_secs = time.monotonic()
        if now_secs - self._shown_secs.get(line, -math.inf) >= _SAME_LINE_SECS:
            self._shown_secs[line] = now_secs
            self.say(line)

    def tick(self) -> None:
        """Brings the live view up to date, as long as that is possible."""
        if self._on_tick is None:
            return
        try:
            with failures_ignored(self._tell_of_failure):
                self._on_tick()
        except Exception as error:
            self._on_tick = None
            self.error = error

    def _tell_of_failure(self, error: OSError) -> None:
        if not self._view_has_failed:
            self._view_has_failed = True
            self.say(f"The live view fails and the program goes on: {error}")


@contextlib.contextmanager
def failures_ignored(
    tell: Callable[[OSError], None] = lambda error: None,
) -> Iterator[None]:
    """Goes on where the screen fails, unless nobody reads it any more.

    Args:
        tell: Called with what failed.

    Raises:
        BrokenPipeError: Nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        tell(error)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
