"""A block of lines at the end of a terminal's text, replaced in place.

Each picture goes out in one write and over the one before, so that nothing flickers.
What it needs of the terminal is undone within the same write: a program that is killed
leaves it as it was.
"""

from collections.abc import Callable, Sequence
from typing import TextIO

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR_LINE_END, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class TerminalBlock:
    """Keeps the cursor on the line below the block. For one thread."""

    def __init__(self, stream: TextIO, length: Callable[[str], int]) -> None:
        """Draws nothing yet.

        Args:
            stream: The terminal.
            length: Returns how many characters a line takes on it.
        """
        self._stream = stream
        self._length = length
        self._lines: Sequence[str] = ()

    def draw(self, lines: Sequence[str], width: int) -> None:
        """Puts these lines in the place of the last ones.

        Args:
            lines: Each shorter than `width`, and fewer than the terminal has.
            width: Characters of the terminal's lines now.
        """
        shown = "".join(f"{line}{_CLEAR_LINE_END}\n" for line in lines)
        self._write(_HIDE_CURSOR + self._to_top(width) + shown + _CLEAR_BELOW)
        self._lines = lines

    def clear(self, width: int) -> None:
        """Takes the block away; the next one begins where the cursor is then."""
        self._write(self._to_top(width) + _CLEAR_BELOW)
        self._lines = ()

    def _to_top(self, width: int) -> str:
        # A terminal that has become narrower has broken long lines into several.
        num_rows = sum(-(-max(1, self._length(line)) // width) for line in self._lines)
        return f"\r\x1b[{num_rows}A" if num_rows else "\r"

    def _write(self, shown: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        printable = shown.encode(encoding, errors="replace").decode(encoding)
        self._stream.write(
            printable + (_SHOW_CURSOR if shown.startswith(_HIDE_CURSOR) else "")
        )
        self._stream.flush()
