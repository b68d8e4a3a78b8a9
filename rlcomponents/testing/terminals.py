"""A terminal for tests: what a person would see of what a program writes."""

import io
import re

_PART = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class FakeTerminal(io.StringIO):
    """Knows the few escape codes that programs here use, and refuses all others.

    Like most of today's terminals, it breaks lines anew when it becomes narrower. It
    keeps what scrolls off its top, but the cursor never goes there.

    Attributes:
        num_writes: Calls of `write`.
        is_cursor_shown: Whether it is now.
        was_cursor_hidden: Whether it ever was.
    """

    def __init__(self, columns: int, rows: int) -> None:
        """Begins empty, the cursor at the top."""
        super().__init__()
        self._columns = columns
        self._num_rows = rows
        self._lines: list[str] = [""]
        self._row = self._column = 0
        self._top = 0  # The first row that has not scrolled away.
        self.num_writes = 0
        self.is_cursor_shown = True
        self.was_cursor_hidden = False

    def lines(self) -> list[str]:
        """Returns all rows, also those that have scrolled away, to the last with text.

        Blanks at the end of a row are left out.
        """
        return "\n".join(line.rstrip() for line in self._lines).rstrip("\n").split("\n")

    def visible_lines(self) -> list[str]:
        """Returns those rows of `lines` that have not scrolled away."""
        return self.lines()[self._top :]

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size; the cursor stays at its character."""
        broken: list[str] = []
        for index, line in enumerate(self._lines):
            line = line.rstrip()
            if index == self._row:
                self._row = len(broken) + self._column // columns
                self._column %= columns
            broken += [
                line[start : start + columns]
                for start in range(0, max(1, len(line)), columns)
            ]
        self._lines = broken
        self._columns, self._num_rows = columns, rows
        self._top = max(0, len(self._lines) - rows)

    def write(self, shown: str) -> int:
        """Takes text and escape codes."""
        self.num_writes += 1
        position = 0
        for part in _PART.finditer(shown):
            assert part.start() == position, f"Unknown: {shown[position:]!r}."
            position = part.end()
            argument, code, control, printed = part.groups()
            if code:
                self._obey(argument, code)
            elif control == "\r":
                self._column = 0
            elif control == "\n":  # As a terminal's driver sends it on.
                self._column = 0
                self._down()
            else:
                for character in printed:
                    self._put(character)
        assert position == len(shown), f"Unknown: {shown[position:]!r}."
        return len(shown)

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._column = 0
            self._down()
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = (
            line[: self._column] + character + line[self._column + 1 :]
        )
        self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")
        self._top = max(self._top, self._row - self._num_rows + 1)

    def _obey(self, argument: str, code: str) -> None:
        if code == "A":
            self._row = max(self._top, self._row - int(argument or 1))
        elif code == "K" and argument in ("", "0"):
            self._lines[self._row] = self._lines[self._row][: self._column]
        elif code == "J" and argument in ("", "0"):
            self._lines[self._row] = self._lines[self._row][: self._column]
            del self._lines[self._row + 1 :]
        elif argument == "?25" and code in "hl":
            self.is_cursor_shown = code == "h"
            self.was_cursor_hidden |= code == "l"
        else:
            assert code == "m", f"Unknown: {argument}{code}."
