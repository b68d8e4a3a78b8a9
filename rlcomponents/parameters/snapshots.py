"""States of shards in files, from which they go on after a death or in a later run.

    state/parameters-<k>.npz    what `ParameterShard.save` of shard k returned

Written whole or not at all, and not forced to the disk: a snapshot outlives the death
of its process. What outlives a power cut is a checkpoint.

Where a file is there and is no state of what is to go on from it, the program ends:
training would begin again from initial values, and what was learned would be
overwritten. A resume makes the file anew from a checkpoint.
"""

import pathlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from rlcomponents import array_files, core, pulse
from rlcomponents.parameters import saved_states, shard, wire
from rlcomponents.runs import disk as disks
from rlcomponents.runs import writer_threads

_IDLE_SECS = 1.0

State = Mapping[str, np.ndarray | int]
"""What `save` of a shard, or of a store in memory, returns."""


class RestoresOnce(Protocol):
    """A store in memory: `LocalStore` or `SharedMemoryStore`."""

    def restore_if_empty(self, state: State) -> bool:
        """Goes on from a saved state unless there are parameters already."""


def start_from(store: RestoresOnce, path: pathlib.Path) -> bool:
    """Lets a store go on from a snapshot, if there is one and the store is empty.

    For every node that opens the store: whoever comes first restores it.

    Args:
        store: Not initialised yet, or by one who has called this.
        path: Of the snapshot.

    Returns:
        Whether the store was restored now.

    Raises:
        pulse.FatalError: The file holds something else, or is damaged.
        OSError: The file cannot be read now.
    """
    return _go_on_from(path, store.restore_if_empty)


class SavedShard(shard.ParameterShard):
    """A shard that goes on from its last snapshot when it is started again.

    It starts in an epoch of its own: gradients that were computed from what the
    snapshot does not have are discarded, not applied to something else.

    A snapshot is taken once there are parameters, then twice in each period, and when
    the program stops. A thread writes it; pushes wait for a copy in memory only. So at
    most `snapshot_period_updates` updates are lost at a death, where a write takes
    less than half a period.
    """

    def __init__(
        self,
        path: pathlib.Path,
        *,
        snapshot_period_updates: int,
        wait_for_stop: core.WaitForStop,
        **settings: Any,
    ) -> None:
        """Restores the shard from its snapshot, if there is one.

        Args:
            path: Of the snapshot.
            snapshot_period_updates: Updates that a death may lose.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
            **settings: See `ParameterShard`; without `epoch`.

        Raises:
            ValueError: A setting out of its range.
            pulse.FatalError, OSError: See `start_from`.
        """
        if snapshot_period_updates < 1:
            raise ValueError(
                f"snapshot_period_updates is {snapshot_period_updates}: give 1 or more."
            )
        self._life = pulse.current()  # Calls come in threads that are of no node.
        super().__init__(epoch=self._life.starts, **settings)
        self._wait_for_stop = wait_for_stop
        self._interval_updates = max(1, snapshot_period_updates // 2)
        self._writer = _Writer(path, self.save)
        _go_on_from(path, self.restore)
        self._requested_updates = self._updates

    def run(self) -> None:
        """Waits until the program stops, then takes the last snapshot.

        Raises:
            Exception: What the thread died of that writes snapshots.
        """
        while not self._wait_for_stop(_IDLE_SECS):
            self._writer.thread.check()
        self._writer.close()

    def initialise(self, vector: wire.Buffer) -> wire.Reply:
        """See `ParameterShard`."""
        reply = super().initialise(vector)
        self._writer.request()
        return reply

    def push(
        self, gradient: wire.Buffer, epoch: int, updates: int, steps: int
    ) -> wire.Reply:
        """See `ParameterShard`. One that was judged is a step of the node's work."""
        reply = super().push(gradient, epoch, updates, steps)
        if not wire.is_result(reply):
            return reply
        statistics = saved_states.ShardStatistics(*wire.read_reply(self.statistics()))
        counts = statistics.as_store()
        self._life.completed_step()
        self._life.show(
            updates=counts.updates,
            discarded=counts.discarded_stale,
            staleness_updates=counts.mean_staleness_updates,
        )
        if self._updates - self._requested_updates >= self._interval_updates:
            self._requested_updates = self._updates
            self._writer.request()
        return reply


class _Writer:
    """Writes what `save` returns, in a thread, whenever it is asked to.

    Attributes:
        thread: To look at now and then, in the loop of the node.
    """

    def __init__(self, path: pathlib.Path, save: Callable[[], State]) -> None:
        """Starts the thread, which ends with the process."""
        self._path = path
        self._save = save
        self._disk = disks.Disk()
        self._closing = False
        self._request = threading.Event()
        self.thread = writer_threads.WriterThread(self._run)

    def request(self) -> None:
        """Asks for a snapshot, and does not wait for it."""
        self._request.set()

    def close(self) -> None:
        """Takes a last one, and ends the thread; raises what that died of."""
        self._closing = True
        self._request.set()
        self.thread.join()
        self.thread.check()

    def _run(self) -> None:
        while True:
            self._request.wait()
            self._request.clear()
            closing = self._closing  # Looked at after that, and before the state is.
            with self._disk.survived(str(self._path)):
                array_files.replace(self._path, self._save())
            if closing:
                return


def _go_on_from(path: pathlib.Path, restore: Callable[[State], bool | None]) -> bool:
    """Calls `restore` with the state in a file; returns whether it did not refuse.

    Raises:
        pulse.FatalError, OSError: See `start_from`.
    """
    try:
        return restore(array_files.read(path)) is not False
    except FileNotFoundError:
        return False
    except ValueError as error:
        raise pulse.FatalError(
            f"{path} is no state to go on from ({error}): resume the run, which makes "
            "the file anew from the newest checkpoint, or start another run."
        ) from error
