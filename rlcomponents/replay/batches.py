"""Batches of transitions out of any number of replay servers."""

import gc
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import reverb
import tensorflow as tf
import tree
from tensorflow.python.eager import cancellation

from rlcomponents import pulse, specs
from rlcomponents.replay import frames, servers, transitions
from rlcomponents.replay import layout as replay_layout
from rlcomponents.replay import tables as replay_tables

_POLL_SECS = 0.1  # Between looks at a table that is still below its minimum.
_WATCH_SECS = 1.0  # Between looks at shards that give nothing.


class ReplayBatches:
    """Draws batches from all shards of a replay. Thread-safe.

    Each shard has a reader, a thread that keeps one batch ready; `next_batch` takes
    from the shards in turn and passes over those without one. So while all shards keep
    up, each gives the same share, and where actors spread their items evenly sampling
    is uniform over all items. A shard that is dead, empty or blocked by its limits
    gives nothing and stops nobody; it joins in when it is back. While nothing is to be
    had, `pulse` is told what each shard lacks.

    A shard in this process (`servers.LocalReplay`) is read from memory, any other over
    the network. Up to two batches per shard are drawn before they are asked for.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        environment_spec: specs.EnvironmentSpec,
        *,
        batch_size: int,
        table: str = replay_tables.TABLE,
        names: Sequence[str] | None = None,
    ) -> None:
        """Starts the readers; no server need be up yet.

        Args:
            addresses: `host:port` of each shard.
            environment_spec: Of the environment whose transitions the tables hold.
            batch_size: Transitions in a batch, all of one shard.
            table: Name of the table on every shard.
            names: Of the shards, for messages. None: `replay/<index>`.

        Raises:
            ValueError: No shard, or an empty batch.
        """
        if not addresses:
            raise ValueError(
                "No replay server to draw from: give one address at least."
            )
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}: it must be at least 1.")
        self._changed = threading.Condition()
        self._turn = 0
        self._names = names or [f"replay/{index}" for index in range(len(addresses))]
        self._readers = [
            _ShardReader(address, environment_spec, batch_size, table, self._changed)
            for address in addresses
        ]
        self._closing = threading.Event()
        self._watcher = threading.Thread(
            target=self._watch, name="replay-watcher", daemon=True
        )
        self._watcher.start()

    @property
    def num_items(self) -> int:
        """Items in all shards together, as of each shard's last answer."""
        return sum(reader.num_items for reader in self._readers)

    def next_batch(self, timeout_secs: float) -> transitions.Transition | None:
        """See `transitions.BatchSource`.

        Raises:
            RuntimeError: A shard cannot be read at all, as when its table holds
                something else, or this object is closed.
        """
        with self._changed:
            if not self._any_changed():
                with pulse.current().waiting(self._describe_wait()):
                    self._changed.wait_for(self._any_changed, timeout_secs)
            order = [*self._readers[self._turn :], *self._readers[: self._turn]]
            for distance, reader in enumerate(order):
                batch = reader.take()
                if batch is not None:
                    self._turn = (self._turn + distance + 1) % len(self._readers)
                    return batch
        return None

    def close(self) -> None:
        """Ends the readers: at once, or within about 3 s where limits block them."""
        self._closing.set()
        for reader in self._readers:
            reader.begin_close()
        for reader in self._readers:
            reader.finish_close()
        self._watcher.join()

    def _any_changed(self) -> bool:
        return any(reader.has_news for reader in self._readers)

    def _describe_wait(self) -> str:
        return "; ".join(
            f"{name}: {reader.waiting_for}"
            for name, reader in zip(self._names, self._readers, strict=True)
        )

    def _watch(self) -> None:
        while not self._closing.wait(_WATCH_SECS):
            for reader in self._readers:
                reader.watch()


class _ShardReader:
    """Keeps one batch of one shard ready, in a thread of its own."""

    def __init__(
        self,
        address: str,
        environment_spec: specs.EnvironmentSpec,
        batch_size: int,
        table: str,
        changed: threading.Condition,
    ) -> None:
        self.num_items = 0
        self.waiting_for = "no answer"
        self._address = address
        self._signature = replay_tables.signature(environment_spec)
        self._layout = replay_layout.ObservationLayout(environment_spec.observations)
        self._batch_size = batch_size
        self._table = table
        self._changed = changed  # Guards the next two.
        self._batch: transitions.Transition | None = None
        self._error: Exception | None = None
        self._closing = threading.Event()
        self._cancellation = cancellation.CancellationManager()  # Under the lock.
        self._asked_secs = math.inf  # Since when a batch is being waited for.
        self._canceller: threading.Thread | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"replay-{address}", daemon=True
        )
        self._thread.start()

    @property
    def has_news(self) -> bool:
        """Whether `take` would return a batch or raise. Under the lock."""
        return (
            self._batch is not None or self._error is not None or self._closing.is_set()
        )

    def take(self) -> transitions.Transition | None:
        """Hands out the batch that is ready, if any. Under the lock."""
        if self._error is not None:
            raise RuntimeError(
                f"Replay server {self._address} cannot be read: {self._error}"
            ) from self._error
        if self._closing.is_set():
            raise RuntimeError("These batches are closed.")
        batch, self._batch = self._batch, None
        if batch is not None:
            self._changed.notify_all()
        return batch

    def begin_close(self) -> None:
        """Tells the thread to end, whatever it waits for."""
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            cancel = self._cancellation.start_cancel
        # A sampler in this process notices a cancellation only every 3 s, and makes
        # whoever cancels wait for that.
        self._canceller = threading.Thread(target=cancel, daemon=True)
        self._canceller.start()

    def finish_close(self) -> None:
        """Waits for the thread to end."""
        self._thread.join()
        if self._canceller is not None:
            self._canceller.join()

    def watch(self) -> None:
        """Finds out why the shard gives nothing, and gives up on a dead one.

        By itself Reverb says nothing, and tries to connect for ever.
        """
        with self._changed:
            cancel = self._cancellation.start_cancel
        if time.monotonic() - self._asked_secs < _WATCH_SECS:
            return
        if not servers.is_listening(self._address):
            self.waiting_for = "no answer"
            cancel()
            return
        try:
            info = servers.info(self._address, table=self._table)
        except TimeoutError:
            self.waiting_for = "no answer"
            return
        self._note(info)

    def _run(self) -> None:
        try:
            while self._wait_until_filled():
                self._read(self._make_next())
                # Its connection looks for the server ever more rarely, up to once in
                # two minutes, and every new one of this process along with it.
                gc.collect()
        except Exception as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _wait_until_filled(self) -> bool:
        """Waits until the table can be sampled; False when closed before that."""
        while not self._closing.is_set():
            try:
                info = servers.info(self._address, table=self._table)
            except TimeoutError:
                self.num_items = 0
                self.waiting_for = "no answer"
            else:
                self._note(info)
                if info.num_items >= info.min_items:
                    return True
            self._closing.wait(_POLL_SECS)
        return False

    def _note(self, info: servers.ReplayInfo) -> None:
        self.num_items = info.num_items
        self.waiting_for = (
            f"{info.num_items} of {info.min_items} items"
            if info.num_items < info.min_items
            else "its next batch"
        )

    def _read(self, get_next: Callable[[], Any]) -> None:
        """Reads batches until closed, or until the server ends the stream."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._batch is None or self._closing.is_set()
                )
            if self._closing.is_set():
                return
            self._asked_secs = time.monotonic()
            try:
                num_items, observation, action, reward, discount, next_observation = (
                    get_next()
                )
            except (tf.errors.CancelledError, tf.errors.UnavailableError):
                return  # Closed, or the server has gone.
            finally:
                self._asked_secs = math.inf
            batch = transitions.Transition(
                self._observation(observation),
                action,
                reward,
                discount,
                self._observation(next_observation),
            )
            with self._changed:
                self.num_items = int(num_items)
                self._batch = batch
                self._changed.notify_all()

    def _make_next(self) -> Callable[[], Any]:
        """Returns a cancellable call for the next batch."""
        dataset = reverb.TrajectoryDataset(
            self._address,
            self._table,
            dtypes=tree.map_structure(lambda spec: spec.dtype, self._signature),
            shapes=tree.map_structure(lambda spec: spec.shape, self._signature),
            # One batch on the way while the one before is being used: more would be
            # older, and no faster.
            max_in_flight_samples_per_worker=self._batch_size,
            num_workers_per_iterator=1,
        )
        dataset = dataset.batch(self._batch_size, drop_remainder=True)
        dataset = dataset.map(tf.autograph.experimental.do_not_convert(self._unpack))
        options = tf.data.Options()
        options.autotune.enabled = False
        options.threading.private_threadpool_size = 1
        iterator = iter(dataset.with_options(options))
        get_next = tf.function(iterator.get_next, autograph=False)
        manager = cancellation.CancellationManager()
        with self._changed:
            if not self._closing.is_set():
                self._cancellation = manager
        return manager.get_cancelable_function(get_next.get_concrete_function())

    def _unpack(self, sample: Any) -> tuple[Any, ...]:
        item = sample.data
        return (
            sample.info.table_size[-1],
            item["observation"],
            tf.cast(item["step"][:, 0], tf.int32),
            item["step"][:, 1],
            item["step"][:, 2],
            item["next_observation"],
        )

    def _observation(self, leaves: Sequence[tf.Tensor]) -> Any:
        """Stacks the frames of stacks, which come as `[B, num_frames, *F]`."""
        # TensorFlow's own transposition takes several times as long.
        return self._layout.observation(
            [
                leaf
                if column.num_frames is None
                else tf.convert_to_tensor(frames.stacked(np.asarray(leaf)))
                for column, leaf in zip(self._layout.columns, leaves, strict=True)
            ]
        )
