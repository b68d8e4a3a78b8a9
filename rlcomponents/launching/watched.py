"""One running node as the supervisor sees it, and what the supervisor waits on."""

import abc
import collections
import contextlib
import dataclasses
import pathlib
import selectors
import socket
import time
import types
from collections.abc import Mapping

from rlcomponents import pulse
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


@dataclasses.dataclass
class Signs:
    """What a node has last been heard to say of itself; see `rlcomponents.pulse`.

    Attributes:
        seen_secs: When it was last heard of, by this process's `time.monotonic`.
        steps: Steps it has completed since its start.
        is_stepping: Whether one step is to follow another by itself.
        is_starting: Whether it still builds what it works with, or has said nothing.
        numbers: What it shows of its work.
        waiting_for: What it waits for; None while it works.
        waiting_since_secs: Since when.
        moved_secs: When it was last seen to do something other than work on one and
            the same step.
    """

    seen_secs: float
    steps: int = 0
    is_stepping: bool = False
    is_starting: bool = True
    numbers: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    waiting_for: str | None = None
    waiting_since_secs: float = 0.0
    moved_secs: float = 0.0

    def take(
        self,
        now_secs: float,
        steps: int,
        is_stepping: bool,
        waiting_for: str | None,
        waiting_secs: float,
        *,
        is_starting: bool = False,
        numbers: Mapping[str, float | None] = types.MappingProxyType({}),
    ) -> None:
        """Takes note of a pulse that has just come."""
        if steps != self.steps or not is_stepping or waiting_for is not None:
            self.moved_secs = now_secs
        self.seen_secs = now_secs
        self.steps = steps
        self.is_stepping = is_stepping
        self.is_starting = is_starting
        self.numbers = numbers
        self.waiting_for = waiting_for
        self.waiting_since_secs = now_secs - waiting_secs


class Node(abc.ABC):
    """One node of a running program, as the supervisor sees it.

    Attributes:
        name: `group/index`.
        log_path: Its log file.
        log_start_bytes: Where this start begins in the log file, which may be older.
        starts: How often it was started before.
        started_secs: When it was last started, by `time.monotonic`.
        signs: What it has last said of itself.
        messages: What it wants on the screen; taken out once shown.
        called_stop: Whether it has called `lp.stop()`.
        finished_secs: When its function was over, by `time.monotonic`; None before.
        failure: How it died, where it did.
        ended: Whether nothing is left of it.
    """

    KILLED = "was killed"
    """What became of a node that did not stop in time, in words."""

    def __init__(self, name: str, log_path: pathlib.Path) -> None:
        """Starts nothing yet."""
        self.name = name
        self.log_path = log_path
        self.starts = -1
        self.messages: collections.deque[str | pulse.DiskNews] = collections.deque()
        self._forget()

    def start(self) -> None:
        """Starts the node, also again once it has ended.

        Raises:
            OSError: The system does not let it. Nothing is left of it.
        """
        self.starts += 1
        self._forget()
        try:
            self._start()
        except BaseException:
            self.ended = True
            raise

    def _forget(self) -> None:
        exists = self.log_path.exists()
        self.log_start_bytes = self.log_path.stat().st_size if exists else 0
        self.started_secs = now_secs = time.monotonic()
        self.signs = Signs(seen_secs=now_secs, moved_secs=now_secs)
        self.called_stop = False
        self.finished_secs: float | None = None
        self.failure: endings.Failure | None = None
        self.ended = False

    @property
    def pid(self) -> int | None:
        """The process in which it runs, or ran last; None where there is none."""
        return None

    @abc.abstractmethod
    def _start(self) -> None:
        """Starts the node; the attributes are as at its first start."""

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
