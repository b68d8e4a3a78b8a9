"""Threads that write beside the work of a node, and do not die unnoticed.

What `disk.Disk` does not outlive ends such a thread. A node that went on would train
for days and save nothing. So its own loop raises what the thread died of, and the node
is started again.
"""

import threading
from collections.abc import Callable


class WriterThread:
    """Runs a function in a thread that ends with the process, and keeps its error."""

    def __init__(self, run: Callable[[], None]) -> None:
        """Starts the thread."""
        self._run = run
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._keep_error, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def check(self) -> None:
        """Raises what the thread died of, once. Call it in the loop of the node."""
        error = self._error
        if error is not None:
            self._error = None
            raise error

    def join(self, timeout_secs: float | None = None) -> None:
        """Waits for the end of the thread. None: for as long as that takes."""
        self._thread.join(timeout_secs)

    def _keep_error(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self._error = error
