"""A parameter store whose shards are courier servers, on any host."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rlcomponents import core, pulse
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import saved_states, shard_calls, sharded_store, wire


class ShardedClient(sharded_store.ShardedStore):
    """Pulls from and pushes to all shards in parallel. Thread-safe.

    One per process that needs the store. It has at most one push in flight to a shard:
    several would arrive out of order.

    A shard that dies, or hangs, is waited for until it answers at its address again, or
    until the program is asked to stop. Nothing that changes a shard is sent twice: what
    it made of a push or of a count of steps that it did not answer is not known. It is
    sent no other until it has answered something else, so that it holds up one push and
    not every one; the next `pull` waits for it. Where it has lost its parameters, it is
    offered those that this store was initialised with.
    """

    def __init__(
        self,
        layout: layouts.ParameterLayout,
        clients: Sequence[shard_calls.ShardClient],
        *,
        should_stop: Callable[[], bool],
        max_gradient_norm: float | None = None,
        call_timeout_secs: float = 120.0,
    ) -> None:
        """Stores the clients; calls none of them.

        Args:
            layout: Of the network whose parameters these are. All clients of a store
                must use the same.
            clients: One per shard, in the order of the vector. Courier's must be made
                with `wait_for_ready=False`: else courier itself sends what was in
                flight again when a shard is back.
            should_stop: Returns whether to wait no longer for shards that do not
                answer. From then on a call ends within 5 s.
            max_gradient_norm: See `ShardedStore`.
            call_timeout_secs: Longest wait for the answer to one call, whatever the
                timeout of `clients`.

        Raises:
            ValueError: No clients, more of them than parameters, or a setting out of
                its range.
        """
        super().__init__(layout, len(clients), max_gradient_norm=max_gradient_norm)
        self._shards = shard_calls.ShardCalls(
            clients, call_timeout_secs=call_timeout_secs, should_stop=should_stop
        )
        self._initial: np.ndarray | None = None
        self._push_lock = threading.Lock()

    def initialise(self, vector: np.ndarray) -> bool:
        """See `core.ParameterStore`. Keeps a copy, for shards that lose theirs.

        Raises:
            StoreUnavailableError: The program is to stop, and a shard has not answered.
        """
        taken = super().initialise(vector)
        self._initial = vector.copy()
        return taken

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`. Waits for this client's push before it."""
        with self._push_lock:
            return super().push(gradient, versions, steps)

    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        calls = dict(enumerate(arguments))
        if method == "pull":
            results = self._pull(calls)
        elif method == "push":
            results = self._push(calls)
        elif method == "add_steps":
            results = self._add_steps(calls)
        else:
            results = self._ask(method, calls)
        return [results[index] for index in calls]

    def _ask(self, method: str, calls: shard_calls.Calls) -> dict[int, Any]:
        """Calls until every shard has answered: for what may be done twice."""
        replies = self._shards.until_answered(method, calls)
        return {i: wire.read_reply(reply) for i, reply in replies.items()}

    def _pull(self, calls: shard_calls.Calls) -> dict[int, Any]:
        """Pulls from all at once, when all are there.

        Where one had to be waited for, what the others had answered is old.
        """
        while True:
            self._count([i for i in calls if not self._shards.is_there(i)])
            results, empty = _read(self._shards.once("pull", calls))
            if len(results) == len(calls):
                return results
            self._offer_again(empty)

    def _push(self, calls: shard_calls.Calls) -> dict[int, Any]:
        """Sends each part once, to shards that answered last time."""
        sent = {i: calls[i] for i in calls if not self._shards.is_lost(i)}
        results, empty = _read(self._shards.once("push", sent))
        if self._initial is None and empty:
            raise core.NotInitialisedError(empty.popitem()[1])
        # One that has lost its parameters is offered some by the next pull.
        return {i: results.get(i, (core.Verdict.LOST.value, 0)) for i in calls}

    def _add_steps(self, calls: shard_calls.Calls) -> dict[int, Any]:
        """Sends the steps once; waits for shards that do not answer, before and after.

        Their steps may be lost. That is better than steps that count twice.
        """
        self._count([i for i in calls if self._shards.is_lost(i)])
        results, _ = _read(self._shards.once("add_steps", calls))
        return results | self._count([i for i in calls if i not in results])

    def _count(self, indices: Sequence[int]) -> dict[int, int]:
        """Returns what each of these shards has counted, as soon as it answers."""
        if not indices:
            return {}
        fields = self._ask("statistics", {i: () for i in indices})
        return {
            i: saved_states.ShardStatistics(*each).steps for i, each in fields.items()
        }

    def _offer_again(self, empty: Mapping[int, str]) -> None:
        """Offers initial parameters to shards that say that they have none.

        Raises:
            NotInitialisedError: This store was not initialised itself.
        """
        if not empty:
            return
        if self._initial is None:
            raise core.NotInitialisedError(next(iter(empty.values())))
        parts = self._cut(self._initial)
        taken = self._ask("initialise", {i: (parts[i],) for i in empty})
        for index in sorted(i for i in taken if taken[i]):
            pulse.current().say(
                f"parameters/{index} came back without its parameters: this part of "
                "the network starts again from its initial values."
            )


def _read(replies: Mapping[int, wire.Reply]) -> tuple[dict[int, Any], dict[int, str]]:
    """Returns results, and what those say that hold no parameters yet."""
    results, empty = {}, {}
    for index, reply in replies.items():
        try:
            results[index] = wire.read_reply(reply)
        except core.NotInitialisedError as error:
            empty[index] = str(error)
    return results, empty
