"""One running node as the supervisor sees it, and what the supervisor waits on."""

import abc
import contextlib
import pathlib
import selectors
import socket

from rlcomponents.launching import endings


class Wake:
    """What the supervisor waits on. `set` works from any thread or signal handler."""

    def __init__(self) -> None:
        """Opens a pair of sockets: a closed one refuses late writes, a pipe may not."""
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._receiver, selectors.EVENT_READ)

    def set(self) -> None:
        """Ends the current or the next `wait`."""
        with contextlib.suppress(OSError):  # Full: set already. Closed: too late.
            self._sender.send(b"\0")

    def watch(self, file_descriptor: int) -> None:
        """Lets readable input of this descriptor end a `wait`, too."""
        self._selector.register(file_descriptor, selectors.EVENT_READ)

    def unwatch(self, file_descriptor: int) -> None:
        """Undoes `watch`; call it before closing the descriptor."""
        self._selector.unregister(file_descriptor)

    def wait(self, timeout_secs: float) -> None:
        """Returns when set, when something watched has input, or after the time."""
        self._selector.select(max(0.0, timeout_secs))
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(4096)

    def close(self) -> None:
        """Frees the descriptors."""
        self._selector.close()
        self._receiver.close()
        self._sender.close()


class Node(abc.ABC):
    """One running node, as the supervisor sees it.

    Attributes:
        name: `group/index`.
        log_path: Its log file.
        log_start_bytes: Where this run begins in the log file, which may be older.
        called_stop: Whether it has called `lp.stop()`.
        finished_secs: When its function was over, by `time.monotonic`; None before.
        failure: How it died, where it did.
        ended: Whether nothing is left of it.
    """

    KILLED = "was killed"

    def __init__(self, name: str, log_path: pathlib.Path) -> None:
        """Starts nothing yet."""
        self.name = name
        self.log_path = log_path
        self.log_start_bytes = log_path.stat().st_size if log_path.exists() else 0
        self.called_stop = False
        self.finished_secs: float | None = None
        self.failure: endings.Failure | None = None
        self.ended = False

    @abc.abstractmethod
    def start(self) -> None:
        """Starts the node."""

    @abc.abstractmethod
    def poll(self) -> None:
        """Brings the attributes up to date, without waiting."""

    @abc.abstractmethod
    def request_stop(self) -> None:
        """Turns the node's stop switch."""

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Raises SystemExit in the node's main thread, as soon as that runs Python."""

    @abc.abstractmethod
    def kill(self) -> None:
        """Ends the node by force."""

    @abc.abstractmethod
    def close(self) -> None:
        """Leaves nothing behind, whatever state the node is in. Call it last."""
