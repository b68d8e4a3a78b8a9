"""A parameter store whose shards are courier servers, on any host."""

import threading
from collections.abc import Sequence
from concurrent import futures
from typing import Any, Protocol

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import sharded_store, wire

_UNAVAILABLE_CODES = frozenset(("CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"))


class ShardClient(Protocol):
    """What reaches one shard: `courier.Client`, or what a Launchpad handle gives."""

    @property
    def address(self) -> str:
        """Where the shard is, for messages."""

    @property
    def futures(self) -> Any:
        """Has the shard's methods, each returning a `concurrent.futures.Future`."""


class ShardedClient(sharded_store.ShardedStore):
    """Pulls from and pushes to all shards in parallel. Thread-safe.

    One per process that needs the store. It has at most one push in flight to a shard:
    several would arrive out of order. Nothing is sent twice: whoever gets
    `core.StoreUnavailableError` from a pull may pull again, and loses a push.
    """

    def __init__(
        self,
        layout: layouts.ParameterLayout,
        clients: Sequence[ShardClient],
        *,
        max_gradient_norm: float | None = None,
        call_timeout_secs: float = 120.0,
    ) -> None:
        """Stores the clients; calls none of them.

        Args:
            layout: Of the network whose parameters these are. All clients of a store
                must use the same.
            clients: One per shard, in the order of the vector.
            max_gradient_norm: See `ShardedStore`.
            call_timeout_secs: Longest wait for an answer of the shards, whatever the
                timeout of `clients`. Long enough for a server that is still starting.

        Raises:
            ValueError: No clients, more of them than parameters, or a setting out of
                its range.
        """
        super().__init__(layout, len(clients), max_gradient_norm=max_gradient_norm)
        if not call_timeout_secs > 0.0:
            raise ValueError(
                f"call_timeout_secs is {call_timeout_secs}: give a positive number."
            )
        self._clients = tuple(clients)
        self._call_timeout_secs = call_timeout_secs
        self._push_lock = threading.Lock()

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`. Waits for this client's push before it.

        Raises:
            StoreUnavailableError: A shard did not answer; the others have judged.
        """
        with self._push_lock:
            return super().push(gradient, versions, steps)

    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        clients = self._clients[: len(arguments)]
        calls: list[futures.Future[wire.Reply]] = [
            getattr(client.futures, method)(
                *(bytes(x) if isinstance(x, memoryview) else x for x in each)
            )
            for client, each in zip(clients, arguments, strict=True)
        ]
        # Waits for every shard before it looks at any: nothing stays in flight.
        done, _ = futures.wait(calls, timeout=self._call_timeout_secs)
        replies, failures = [], []
        for index, (client, call) in enumerate(zip(clients, calls, strict=True)):
            name = f"shard {index} at {client.address}"
            if call not in done:
                call.cancel()
                failures.append(f"{name}: no answer in {self._call_timeout_secs:g} s")
                continue
            try:
                replies.append(call.result())
            except Exception as error:
                # Courier's own class, not imported: this package loads without it.
                code = getattr(error, "code", None)
                if getattr(code, "name", None) not in _UNAVAILABLE_CODES:
                    raise
                failures.append(f"{name}: {error}")
        if failures:
            raise core.StoreUnavailableError(
                f"{method} failed for {len(failures)} of {len(clients)} parameter "
                f"shards ({'; '.join(failures)})."
            )
        return [wire.read_reply(reply) for reply in replies]
