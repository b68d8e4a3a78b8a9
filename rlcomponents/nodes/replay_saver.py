"""Saves a replay now and then, beside whatever else its process does."""

import threading
from collections.abc import Callable

from rlcomponents.runs import disk as disks
from rlcomponents.runs import writer_threads


class ReplaySaver:
    """Calls `save` once a period, and once more at the end, in a thread of its own.

    A disk that takes no more ends nothing: the user is told, and it is tried again.
    Whatever else happens ends the thread; `check` and `close` raise it.
    """

    def __init__(
        self,
        save: Callable[[], None],
        folder: str,
        *,
        period_secs: float,
        last_save_secs: float = 4.0,
    ) -> None:
        """Starts the thread.

        Args:
            save: Raises OSError where the disk takes no more.
            folder: Where it writes, for messages.
            period_secs: From the end of one save to the next.
            last_save_secs: Longest wait at the end. A save that takes longer is cut
                off, and the one before stays.
        """
        self._save = save
        self._folder = folder
        self._period_secs = period_secs
        self._last_save_secs = last_save_secs
        self._disk = disks.Disk()
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._thread = writer_threads.WriterThread(self._run)

    def check(self) -> None:
        """Raises what the thread died of, once. Call it in the loop of the node."""
        self._thread.check()

    def close(self) -> None:
        """Saves once more, where there is time for it.

        Raises:
            Exception: What the thread died of, unless `check` has raised it.
        """
        self._closing.set()
        self._thread.join(self._last_save_secs)
        self._given_up.set()
        self._thread.check()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._closing.wait(self._period_secs)
            with self._disk.survived(self._folder):
                try:
                    self._save()
                except OSError:
                    if not self._given_up.is_set():
                        raise
