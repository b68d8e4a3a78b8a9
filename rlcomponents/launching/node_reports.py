"""What a node's process tells the launcher, and what it does when the disk is full.

Nothing here makes the node wait for whoever listens, nor fail for want of one, save for
the few words that the launcher must have: how the node ended, that it ends the program.
"""

import contextlib
import io
import json
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from rlcomponents import pulse
from rlcomponents.runs import disk

_PERIOD_SECS = 1.0
_FIRST_STEP_PERIOD_SECS = 0.1
_MAX_LOCK_SECS = 0.1
_MAX_WORDS_CHARACTERS = 500
_MAX_NAME_CHARACTERS = 150
"""As JSON at most 3900 bytes: a pipe takes up to 4096 whole, or not at all."""
_THE_LOG = "the log"
_GAP = b"(Lines are missing here: the disk took none.)\n"


class Reports:
    """Writes lines of JSON to the status pipe. Thread-safe."""

    def __init__(self, file_descriptor: int) -> None:
        """Takes over the writing end of the pipe."""
        os.set_blocking(file_descriptor, False)
        self._pipe = file_descriptor
        self._lock = threading.Lock()

    def send(self, event: str, **details: Any) -> None:
        """Sends what must arrive; waits for the launcher where the pipe is full."""
        unsent = _line(event, details)
        with self._lock, contextlib.suppress(BrokenPipeError):  # The launcher is gone.
            while unsent:
                with contextlib.suppress(BlockingIOError):
                    unsent = unsent[os.write(self._pipe, unsent) :]
                if unsent:
                    room = select.poll()  # `select.select` takes no high numbers.
                    room.register(self._pipe, select.POLLOUT)
                    room.poll()

    def try_to_send(self, event: str, **details: Any) -> None:
        """Sends a short line, or drops it where the pipe is full."""
        if not self._lock.acquire(timeout=_MAX_LOCK_SECS):  # What must arrive waits.
            return
        try:
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                os.write(self._pipe, _line(event, details))
        finally:
            self._lock.release()

    def say(self, line: str) -> None:
        """Asks the launcher to show a line on the screen; it is in the log, too."""
        print(line)
        self.try_to_send("say", line=_shortened(line))

    def say_of_disk(self, news: pulse.DiskNews) -> None:
        """Tells the launcher of a disk that fails or works; it is in the log, too."""
        self.send_of_disk(news)  # First: the log may be on the disk that fails.
        print(news.line)

    def send_of_disk(self, news: pulse.DiskNews) -> None:
        """Tells the launcher of a disk that fails or works, and does not print it."""
        self.try_to_send(
            "disk",
            what=news.what[-_MAX_NAME_CHARACTERS:],
            fails=news.fails,
            line=_shortened(news.line),
        )

    def send_pulse(self, life: pulse.Pulse) -> None:
        """Sends how the node is."""
        waiting_for, since_secs = life.waiting_for, life.waiting_since_secs
        waiting_secs = time.monotonic() - since_secs if waiting_for else 0.0
        self.try_to_send(
            "pulse",
            steps=life.steps,
            is_stepping=life.is_stepping,
            is_starting=life.is_starting,
            numbers=dict(life.numbers),  # Other threads may add to it meanwhile.
            waiting_for=waiting_for and waiting_for[:_MAX_WORDS_CHARACTERS],
            waiting_secs=waiting_secs,
        )

    def send_pulses(self, life: pulse.Pulse, log: "Log") -> None:
        """Sends once a second how the node is, from a thread of its own.

        Args:
            life: Of the node.
            log: Where it has failed, it is tried again as often.
        """
        thread = threading.Thread(
            target=self._send_pulses, args=(life, log), daemon=True
        )
        thread.start()

    def _send_pulses(self, life: pulse.Pulse, log: "Log") -> None:
        while not life.steps:  # The first step is news: the node can work.
            self.send_pulse(life)
            end_secs = time.monotonic() + _PERIOD_SECS
            while not life.steps and time.monotonic() < end_secs:
                time.sleep(_FIRST_STEP_PERIOD_SECS)
        while True:
            self.send_pulse(life)
            log.mend()
            time.sleep(_PERIOD_SECS)


def _shortened(line: str) -> str:
    return " ".join(line.split())[:_MAX_WORDS_CHARACTERS]


def _line(event: str, details: dict[str, Any]) -> bytes:
    return json.dumps({"event": event, **details}).encode() + b"\n"


class Log(io.RawIOBase):
    """The log file under `sys.stdout`: drops what the disk does not take.

    Else a full disk would kill the node at its next `print`.
    """

    def __init__(
        self, file_descriptor: int, send_of_disk: Callable[[pulse.DiskNews], None]
    ) -> None:
        """Writes to a descriptor that stays open.

        Args:
            file_descriptor: Of the file.
            send_of_disk: Is told where the file takes no more, and where it does again.
                Prints nothing: it would print in here.
        """
        self._file_descriptor = file_descriptor
        self._send_of_disk = send_of_disk
        self._failing = False

    def mend(self) -> None:
        """Tries again where it has failed; says in the file that lines are missing."""
        if self._failing:
            self.write(_GAP)

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """Returns the descriptor."""
        return self._file_descriptor

    def write(self, data: Any) -> int:
        """Writes all of it, or drops the rest."""
        unwritten = memoryview(data).cast("B")
        num_bytes = len(unwritten)
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._file_descriptor, unwritten) :]
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._send_of_disk(disk.cannot_write(_THE_LOG, error))
        else:
            if self._failing:
                self._failing = False
                self._send_of_disk(disk.can_write(_THE_LOG))
        return num_bytes


def text_stream(log: Log) -> io.TextIOWrapper:
    """Returns what to put in place of `sys.stdout` or `sys.stderr`."""
    return io.TextIOWrapper(
        io.BufferedWriter(log),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
