"""Calls to shards that may die, hang, and come back at the same address.

What courier does was found by trying it (the pinned version):

- A client made with `wait_for_ready=True`, the default, sends a call again by itself
  when the connection breaks, to whatever server is at the address by then. With False
  the call fails at once with UNAVAILABLE ("Socket closed"), and is not sent again.
- A call to an address where nobody listens makes all later ones wait: gRPC pauses
  longer and longer between its attempts to connect, for all clients of the process. So
  here nothing is sent to a shard that has not answered before its port has accepted a
  connection.
- The same client reaches the next server at the address; no new one is needed. One that
  is deleted with a call in flight blocks, or aborts the process.
- A process that is stopped accepts connections and answers nothing: only the timeout
  ends a call then, also one that returns a future. What is cancelled or timed out
  before the server has read it is never carried out.
"""

import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from typing import Any, Protocol

from rlcomponents import core, pulse

Calls = Mapping[int, tuple[Any, ...]]
"""Arguments of one call each, by the index of the shard. A memoryview goes as bytes."""

_UNAVAILABLE_CODES = frozenset(("CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"))
_LOOK_SECS = 0.25  # How long a request to stop may go unseen.
_GRACE_SECS = 4.0  # How long calls may go on after it.
_PAUSE_SECS = 0.1  # Between two looks at a port.
_CONNECT_SECS = 1.0


class ShardClient(Protocol):
    """What reaches one shard: `courier.Client`, or what a Launchpad handle gives."""

    @property
    def address(self) -> str:
        """Where the shard is."""

    @property
    def futures(self) -> Any:
        """Has the shard's methods, each returning a `concurrent.futures.Future`."""


class ShardCalls:
    """Calls methods of shards, all at once. Thread-safe.

    Whom a caller waits for is noted in the pulse of its node.
    """

    def __init__(
        self,
        clients: Sequence[ShardClient],
        *,
        call_timeout_secs: float,
        should_stop: Callable[[], bool],
    ) -> None:
        """Stores the clients; calls none of them.

        Args:
            clients: One per shard; see `ShardedClient`.
            call_timeout_secs: Longest wait for the answer to one call.
            should_stop: Returns whether to wait no longer.

        Raises:
            ValueError: A timeout that is not positive.
        """
        if not call_timeout_secs > 0.0:
            raise ValueError(
                f"call_timeout_secs is {call_timeout_secs}: give a positive number."
            )
        self._clients = tuple(clients)
        self._call_timeout_secs = call_timeout_secs
        self._should_stop = should_stop
        # Of each shard's last call: None before the first.
        self._answered: list[bool | None] = [None] * len(self._clients)
        self._reasons = ["it has not been called"] * len(self._clients)

    def is_lost(self, index: int) -> bool:
        """Whether a shard did not answer its last call."""
        return self._answered[index] is False

    def is_there(self, index: int) -> bool:
        """Whether a shard answered its last call."""
        return self._answered[index] is True

    def once(self, method: str, calls: Calls) -> dict[int, Any]:
        """Calls each shard once, whatever comes of it.

        Returns:
            The answers. Shards that gave none are missing.
        """
        with pulse.current().waiting("parameters"):
            return self._once(method, calls)

    def until_answered(self, method: str, calls: Calls) -> dict[int, Any]:
        """Calls each shard until it answers: for what may be done twice.

        Returns:
            The answers of all.

        Raises:
            StoreUnavailableError: The program is to stop, and some have not answered.
        """
        answers: dict[int, Any] = {}
        with pulse.current().waiting("parameters"):
            while True:
                missing = {i: calls[i] for i in calls if i not in answers}
                if not missing:
                    return answers
                for index in missing:
                    self._wait_until_it_listens(method, index)
                answers |= self._once(method, missing)
                self._check_stop(method, missing.keys() - answers.keys())

    def _once(self, method: str, calls: Calls) -> dict[int, Any]:
        # A part is copied as its call is sent: the shards before it work meanwhile.
        flying: dict[int, futures.Future[Any]] = {
            index: getattr(self._clients[index].futures, method)(
                *(bytes(x) if isinstance(x, memoryview) else x for x in arguments)
            )
            for index, arguments in calls.items()
        }
        self._wait_for(method, flying)
        answers = {}
        for index, call in flying.items():
            if not call.done():
                call.cancel()
                self._reasons[index] = f"no answer to {method}"
            else:
                try:
                    answers[index] = call.result()
                except Exception as error:
                    # Courier's own class, not imported: the package loads without it.
                    code = getattr(error, "code", None)
                    if getattr(code, "name", None) not in _UNAVAILABLE_CODES:
                        raise
                    self._reasons[index] = str(error)
            self._answered[index] = index in answers
        return answers

    def _wait_for(self, method: str, flying: Mapping[int, futures.Future[Any]]) -> None:
        """Waits for answers until the timeout, or a while after a request to stop."""
        deadline_secs = time.monotonic() + self._call_timeout_secs
        stopping = False
        for index, call in flying.items():
            while not _ends_within(
                call, min(_LOOK_SECS, deadline_secs - time.monotonic())
            ):
                if time.monotonic() >= deadline_secs:
                    break
                self._note(index, f"no answer to {method} yet")
                if not stopping and self._should_stop():
                    stopping = True
                    deadline_secs = min(deadline_secs, time.monotonic() + _GRACE_SECS)

    def _wait_until_it_listens(self, method: str, index: int) -> None:
        """Waits for the port of a shard that is not known to answer."""
        if self.is_there(index):
            return
        if self.is_lost(index):
            self._note(index, self._reasons[index])
            self._check_stop(method, [index])
            time.sleep(_PAUSE_SECS)
        while not _listens(self._clients[index].address):
            self._reasons[index] = "nobody listens there"
            self._note(index, self._reasons[index])
            self._check_stop(method, [index])
            time.sleep(_PAUSE_SECS)

    def _check_stop(self, method: str, indices: Iterable[int]) -> None:
        """Raises where shards have not answered and the program is to stop."""
        silent = [
            f"shard {i} at {self._clients[i].address}: {self._reasons[i]}"
            for i in sorted(indices)
        ]
        if silent and self._should_stop():
            raise core.StoreUnavailableError(
                f"The program is to stop, and {method} was not answered by "
                f"{len(silent)} of {len(self._clients)} parameter shards "
                f"({'; '.join(silent)})."
            )

    def _note(self, index: int, reason: str) -> None:
        """Says whom the caller waits for. Inside a `waiting` of its pulse."""
        pulse.current().waiting_for = f"parameters/{index}: {reason}"


def _ends_within(call: futures.Future[Any], secs: float) -> bool:
    """Waits for the end of a call; returns whether it came.

    Costs half of what `futures.wait` does, which is for any one of several.
    """
    try:
        call.exception(max(0.0, secs))
    except futures.TimeoutError:
        return False
    return True


def _listens(address: str) -> bool:
    """Returns whether somebody accepts connections at `host:port`.

    True for an address of another form: of that only a call can tell.
    """
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECS).close()
    except OSError:
        return False
    return True
