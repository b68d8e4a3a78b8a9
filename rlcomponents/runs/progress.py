"""The live view of a run: a few numbers that are rewritten in place.

It knows the run by its folder only, so any process may show it. On a terminal it keeps
one block of text, of as many lines as the terminal's width asks for; elsewhere (a file,
a pipe) it prints a plain line now and then.
"""

import math
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from rlcomponents.runs import metrics
from rlcomponents.runs import run_folder as run_folder_lib

_PLAIN_PERIOD_SECS = 10.0
_BAR_CHARACTERS = 20
_GAP = "   "
_GREEN, _YELLOW, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[0m"


class ProgressView:
    """Shows the last row of `program.csv`. For one thread."""

    def __init__(
        self,
        run_folder: run_folder_lib.RunFolder,
        max_steps: int,
        *,
        stream: TextIO,
        is_terminal: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts a view of the rows to come.

        Args:
            run_folder: The run. Rows that it has already, of a part before a resume,
                are not shown.
            max_steps: Agent steps at which the run ends, at least 1.
            stream: Where to print.
            is_terminal: Whether `stream` understands escape codes. Colours are left out
                if the environment variable NO_COLOR is set.
            clock: Seconds since any moment.
        """
        self._run_folder = run_folder
        self._max_steps = max_steps
        self._stream = stream
        self._is_terminal = is_terminal
        self._clock = clock
        self._file = metrics.MetricsFile(run_folder.program_csv)
        self._file.read_new()
        self._row: metrics.Row | None = None
        self._start_secs = clock()
        self._next_plain_secs = self._start_secs
        self._num_lines = 0
        self._printed: metrics.Row | None = None

    def tick(self) -> None:
        """Shows the state of the run; to be called about once a second."""
        self._read()
        if self._is_terminal:
            self._rewrite()
        elif self._clock() >= self._next_plain_secs:
            self._next_plain_secs = self._clock() + _PLAIN_PERIOD_SECS
            self._print_line()

    def say(self, line: str) -> None:
        """Prints a line on stderr at once, above the block of a terminal."""
        if self._is_terminal:
            self._stream.write(self._clearing())
            self._stream.flush()
            self._num_lines = 0
        print(line, file=sys.stderr, flush=True)
        if self._is_terminal:
            self._rewrite()

    def close(self) -> None:
        """Shows the last state, and leaves the cursor on a line of its own."""
        self._read()
        if self._is_terminal:
            self._rewrite()
            self._stream.write("\n")
            self._num_lines = 0
        elif self._row is None or self._row is not self._printed:
            self._print_line()
        self._stream.flush()

    def _read(self) -> None:
        rows = self._file.read_new()
        if rows:
            self._row = rows[-1]

    def _print_line(self) -> None:
        self._stream.write(_GAP.join(text for text, _ in self._fields()) + "\n")
        self._stream.flush()
        self._printed = self._row

    def _rewrite(self) -> None:
        # Never the last column: some terminals wrap after it.
        width = shutil.get_terminal_size().columns - 1
        lines = _fill(self._fields(), width, coloured=not os.environ.get("NO_COLOR"))
        self._stream.write(self._clearing() + "\n".join(lines))
        self._stream.flush()
        self._num_lines = len(lines)

    def _clearing(self) -> str:
        """What takes the block off the screen and leaves the cursor where it began."""
        up = f"\x1b[{self._num_lines - 1}A" if self._num_lines > 1 else ""
        return f"\r{up}\x1b[J"

    def _fields(self) -> list[tuple[str, str | None]]:
        """The texts to show, each with its colour."""
        row = self._row
        if row is None:
            elapsed = _duration(self._clock() - self._start_secs)
            return [
                (f"starting: {elapsed}, node logs in {self._run_folder.logs}", None)
            ]

        def value(column: str) -> float | None:
            number = row.get(column)
            return number if isinstance(number, float) else None

        steps = value("agent_steps") or 0.0
        done = min(steps / self._max_steps, 1.0)
        steps_per_sec = value("steps_per_sec")
        left = (
            _duration(max(self._max_steps - steps, 0) / steps_per_sec)
            if steps_per_sec
            else "-:--"
        )
        stale = value("discarded_stale") or 0.0
        outliers = value("discarded_outlier") or 0.0
        texts = [
            f"{done:.0%} of {self._max_steps:,} steps",
            f"{left} left",
            f"{_number(steps_per_sec)} steps/s",
            f"{_number(value('frames_per_sec'))} frames/s",
            f"{_number(value('updates_per_sec'))} updates/s",
            f"return {_number(value('train_return'))}",
            f"evaluation {_number(value('evaluation_return'))}",
            f"staleness {_number(value('mean_staleness_updates'))} updates",
            f"discarded {stale:,.0f} stale + {outliers:,.0f} outliers",
        ]
        nonfinite = value("discarded_nonfinite")
        if nonfinite:
            texts[-1] += f" + {nonfinite:,.0f} not finite"
        items, capacity = value("replay_items"), value("replay_capacity_items")
        if items is not None and capacity:
            texts.append(f"replay {items / capacity:.0%} full")
        fields: list[tuple[str, str | None]] = [(text, None) for text in texts]
        if self._is_terminal:
            fields.insert(0, (self._bar(done), _GREEN))
        if row.get("waiting"):
            fields.append((str(row["waiting"]), _YELLOW))
        return fields

    def _bar(self, done: float) -> str:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        full, empty = ("█", "░") if encoding.lower().startswith("utf") else ("#", "-")
        num_full = int(done * _BAR_CHARACTERS)
        return full * num_full + empty * (_BAR_CHARACTERS - num_full)


def _fill(
    fields: list[tuple[str, str | None]], width: int, *, coloured: bool
) -> list[str]:
    """Puts fields on lines of at most `width` characters; longer ones are cut."""
    lines: list[str] = []
    room = -1
    for text, colour in fields:
        text = text[:width]
        shown = f"{colour}{text}{_PLAIN}" if colour and coloured else text
        if len(_GAP) + len(text) <= room:
            lines[-1] += _GAP + shown
            room -= len(_GAP) + len(text)
        else:
            lines.append(shown)
            room = width - len(text)
    return lines


def _number(value: float | None) -> str:
    """About three significant digits."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"


def _duration(secs: float) -> str:
    minutes, seconds = divmod(int(secs), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
    )
