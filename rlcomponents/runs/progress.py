"""The live view of a run: what the launcher shows while it goes on.

It knows the run by its folder only, so any process may show it. On a terminal it keeps
a block of lines, redrawn in place: progress, a table of the nodes, the last evaluation.
Elsewhere (a file, a pipe) it prints a plain line now and then.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from rlcomponents.runs import live_view, metrics, node_table, readable, terminal_block
from rlcomponents.runs import run_folder as run_folder_lib

_PLAIN_PERIOD_SECS = 10.0
_BAR_CHARACTERS = 20
_Field = live_view.Field


class ProgressView:
    """Shows how a run is. For one thread."""

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
        self._block = (
            terminal_block.TerminalBlock(stream, live_view.plain_length)
            if is_terminal
            else None
        )
        self._clock = clock
        self._program = metrics.MetricsFile(run_folder.program_csv)
        self._program.read_newest()  # Of the time before.
        self._row: metrics.Row | None = None
        self._evaluations = metrics.MetricsFile(run_folder.evaluation_csv)
        self._evaluation: metrics.Row | None = None
        self._start_secs = clock()
        self._next_plain_secs = self._start_secs
        self._printed: metrics.Row | None = None
        self._has_failed = False

    def tick(self) -> None:
        """Shows the state of the run; to be called about once a second.

        Where that cannot be drawn, plain lines go on, and that is said once.

        Raises:
            OSError: The stream takes no more.
        """
        self._show(is_last=False)

    def say(self, line: str) -> None:
        """Prints a line on stderr at once, above the block of a terminal."""
        if self._block is not None:
            self._block.clear(_size().columns)
        print(line, file=sys.stderr, flush=True)
        if self._block is not None:
            self._show(is_last=False)

    def close(self) -> None:
        """Shows the last state, which stays; see `tick`."""
        self._show(is_last=True)

    def _show(self, *, is_last: bool) -> None:
        try:
            self._read()
            if self._block is not None:
                self._redraw(self._block)
            elif is_last:
                if self._row is None or self._row is not self._printed:
                    self._print_line()
            elif self._clock() >= self._next_plain_secs:
                self._next_plain_secs = self._clock() + _PLAIN_PERIOD_SECS
                self._print_line()
        except OSError:
            raise
        except Exception as error:  # A fault of the picture shall not cost the run.
            self._block = None
            if not self._has_failed:
                self._has_failed = True
                self.say(
                    "The live view cannot be drawn, and the run goes on with plain "
                    f"lines: {type(error).__name__}: {error}"
                )

    def _read(self) -> None:
        self._row = self._program.read_newest() or self._row
        self._evaluation = self._evaluations.read_newest() or self._evaluation

    def _print_line(self) -> None:
        fields = [*self._progress(), *self._totals()]
        self._stream.write(live_view.GAP.join(field.text for field in fields) + "\n")
        self._stream.flush()
        self._printed = self._row

    def _redraw(self, block: terminal_block.TerminalBlock) -> None:
        size = _size()
        picture = live_view.Picture(
            progress=self._progress(),
            totals=self._totals(),
            nodes=node_table.read(self._run_folder.nodes_json),
            evaluation=self._describe_evaluation(),
        )
        # Never the last column, since some terminals wrap after it, and a line below
        # the block for the cursor.
        lines = live_view.draw(
            picture,
            width=max(1, size.columns - 1),
            height=max(1, size.lines - 1),
            coloured=not os.environ.get("NO_COLOR"),
        )
        block.draw(lines, size.columns)

    def _progress(self) -> list[_Field]:
        """Returns how far the run is."""
        if self._row is None:
            elapsed = readable.duration(self._clock() - self._start_secs)
            return [
                _Field(f"starting: {elapsed}, node logs in {self._run_folder.logs}")
            ]
        steps = metrics.number(self._row, "agent_steps")
        speed = metrics.number(self._row, "steps_per_sec")
        done = min(steps / self._max_steps, 1.0)
        left_steps = max(self._max_steps - steps, 0)
        left = readable.duration(left_steps / speed) if speed else "-:--"
        fields = [
            _Field(f"{done:.0%} of {self._max_steps:,} steps"),
            _Field(f"{left} left"),
        ]
        if self._block is not None:
            fields.insert(0, _Field(self._bar(done), live_view.GOOD))
        return fields

    def _totals(self) -> list[_Field]:
        """Returns what the whole program does."""
        row = self._row
        if row is None:
            return []

        def short(column: str) -> str:
            value = row.get(column)
            return readable.short(value if isinstance(value, float) else None)

        discarded = (
            f"discarded {metrics.number(row, 'discarded_stale'):,.0f} stale + "
            f"{metrics.number(row, 'discarded_outlier'):,.0f} outliers"
        )
        nonfinite = metrics.number(row, "discarded_nonfinite")
        if nonfinite:
            discarded += f" + {nonfinite:,.0f} not finite"
        texts = [
            f"{short('steps_per_sec')} steps/s",
            f"{short('frames_per_sec')} frames/s",
            f"{short('updates_per_sec')} updates/s",
            f"return {short('train_return')}",
            f"staleness {short('mean_staleness_updates')} updates",
            discarded,
        ]
        if self._block is None:  # Else it has a line of its own.
            texts.insert(4, f"evaluation {short('evaluation_return')}")
        capacity = metrics.number(row, "replay_capacity_items")
        if capacity and row.get("replay_items") is not None:
            fill = metrics.number(row, "replay_items") / capacity
            texts.append(f"replay {fill:.0%} full")
        fields = [_Field(text) for text in texts]
        if row.get("waiting"):
            fields.append(_Field(str(row["waiting"]), live_view.BUSY))
        return fields

    def _describe_evaluation(self) -> str | None:
        row = self._evaluation
        if row is None:
            return None
        error = row.get("standard_error")
        spread = f" ± {error:.2f}" if isinstance(error, float) else ""
        return (
            f"evaluation {metrics.number(row, 'mean_return'):.2f}{spread} over "
            f"{metrics.number(row, 'episodes'):.0f} episodes, at step "
            f"{metrics.number(row, 'agent_steps'):,.0f}"
        )

    def _bar(self, done: float) -> str:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        full, empty = ("█", "░") if encoding.lower().startswith("utf") else ("#", "-")
        num_full = int(done * _BAR_CHARACTERS)
        return full * num_full + empty * (_BAR_CHARACTERS - num_full)


def _size() -> os.terminal_size:
    """Returns the terminal's, by COLUMNS and LINES where they are set."""
    return shutil.get_terminal_size()
