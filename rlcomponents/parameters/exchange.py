"""Sends a gradient, and fetches what came of it, while its caller computes the next.

Downpour SGD's two threads beside the one that computes (Dean et al. 2012, section 4.1;
https://research.google/pubs/large-scale-distributed-deep-networks), made one: what is
fetched then has the caller's own gradient in it.
"""

from collections.abc import Sequence
from concurrent import futures

import numpy as np

from rlcomponents import core, pulse

_LOOK_SECS = 0.25  # How old the words may be in which a node says whom it waits for.


class Exchange:
    """Pushes, then pulls, in a thread of its own; one at a time. For one caller.

    All that a store does where a shard is away is done in that thread. Whom it waits
    for is noted in the caller's pulse when the caller waits, too.
    """

    def __init__(self, store: core.ParameterStore) -> None:
        """Starts no thread yet.

        Args:
            store: Thread-safe, as the caller may use it meanwhile.
        """
        self._store = store
        node = pulse.current()
        # Two threads that note waits in one pulse would undo each other's.
        self._pulse = pulse.Pulse(say=node.say)
        self._executor = futures.ThreadPoolExecutor(
            1, "exchange", pulse.use_in_this_thread, (self._pulse,)
        )
        self._flying: futures.Future[tuple[core.PushResult, core.Snapshot]] | None = None

    @property
    def is_flying(self) -> bool:
        """Whether `end` has something to return."""
        return self._flying is not None

    @property
    def is_busy(self) -> bool:
        """Whether `end` would have to wait."""
        return self._flying is not None and not self._flying.done()

    def begin(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> None:
        """Begins to push a gradient; see `core.ParameterStore.push`.

        Args:
            gradient: Not to be changed before `end`.
            versions: Of the snapshot that it was computed from.
            steps: Agent steps to count.

        Raises:
            RuntimeError: The one before has not been ended.
        """
        if self._flying is not None:
            raise RuntimeError("An exchange is under way: call end first.")
        self._flying = self._executor.submit(self._run, gradient, versions, steps)

    def end(self) -> tuple[core.PushResult, core.Snapshot]:
        """Waits for what `begin` began, and returns verdicts and new parameters.

        Raises:
            RuntimeError: Nothing was begun.
            StoreUnavailableError: See `core.ParameterStore.pull`.
        """
        if self._flying is None:
            raise RuntimeError("There is no exchange: call begin first.")
        flying, self._flying = self._flying, None
        if not flying.done():
            with pulse.current().waiting("parameters"):
                while futures.wait([flying], _LOOK_SECS).not_done:
                    words = self._pulse.waiting_for or "parameters"
                    pulse.current().waiting_for = words
        return flying.result()

    def close(self) -> None:
        """Waits until what was begun is sent, unless the program is to stop first."""
        if self._flying is not None:
            try:
                self.end()
            except core.StoreUnavailableError:
                pass  # The program stops, as the store was told.
        self._executor.shutdown()

    def _run(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> tuple[core.PushResult, core.Snapshot]:
        return self._store.push(gradient, versions, steps), self._store.pull()
