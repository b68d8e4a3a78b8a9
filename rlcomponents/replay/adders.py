"""Adders: an actor's steps become transitions in a replay table."""

import collections
import math
import time
from collections.abc import Callable
from typing import Any

import dm_env
import numpy as np
import reverb
from acme import adders as acme_adders

from rlcomponents import pulse, specs
from rlcomponents.replay import n_step, servers, steps
from rlcomponents.replay import tables as replay_tables

_WAIT_SECS = 1  # Between looks at `should_stop`; also the longest delay of a stop.
_CHUNK_ROWS = 2  # Observations that are compressed, sent and kept together.
_PAUSE_SECS = 0.1  # Between questions to a server that is about to end.


class TransitionAdder(acme_adders.Adder):
    """Sends n-step transitions to one replay server. Not thread-safe.

    Each observation is sent once: a stack of frames as its newest frame (all frames for
    the first of an episode), anything else whole. Items refer to what was sent. The
    newest item may wait here for the next one or for `flush`, and those of an episode's
    end for the next episode. Nothing that it is given is kept or changed.

    At the end of an episode the last steps give shorter items, which end in the true
    last observation: with discount 0 after a termination or a lost life, with gamma to
    the power of their length after a truncation. Nothing spans two episodes.

    Where the server dies, what it has not confirmed is dropped and counted. The adder
    waits until a server listens at the address again, and goes on as if the episode
    began at its newest observation: no item spans the gap. A server that hangs is
    waited for, and nothing is lost.

    Attributes:
        num_dropped_items: Transitions dropped because their server died, at most.
    """

    def __init__(
        self,
        address: str,
        environment_spec: specs.EnvironmentSpec,
        *,
        num_steps: int,
        discount: float,
        max_abs_reward: float | None = None,
        max_in_flight_items: int = 16,
        table: str = replay_tables.TABLE,
        connect_timeout_secs: float = 300.0,
        should_stop: Callable[[], bool] | None = None,
        replay: str = "",
    ) -> None:
        """Connects to nothing yet: that is for the first `add_first`.

        Args:
            address: `host:port` of the replay server.
            environment_spec: Of the environment; the table was made from an equal one.
            num_steps: Steps that an item spans, n.
            discount: gamma per agent step.
            max_abs_reward: Each step's reward is clipped to this size. None: not.
            max_in_flight_items: Items that may be on their way to the server; beyond
                that `add` waits. At least 1.
            table: Name of the table.
            connect_timeout_secs: Longest wait for the server to answer at first.
            should_stop: Asked about once a second while waiting for the server. Once
                it says True, waiting ends and what cannot be sent is dropped. None: it
                waits on.
            replay: Name of the server for messages. By default its address.

        Raises:
            ValueError: A setting outside its range, or actions that cannot be stored.
        """
        if max_in_flight_items < 1:
            raise ValueError(
                f"max_in_flight_items is {max_in_flight_items}: it must be at least 1, "
                "or nothing could ever be sent."
            )
        self._address = address
        self._signature = replay_tables.signature(environment_spec)
        self._steps = steps.EpisodeSteps(
            environment_spec,
            num_steps=num_steps,
            discount=discount,
            max_abs_reward=max_abs_reward,
        )
        self._layout = self._steps.layout
        self._max_in_flight_items = max_in_flight_items
        self._table = table
        self._connect_timeout_secs = connect_timeout_secs
        self._should_stop = should_stop or (lambda: False)
        self._replay = replay or f"replay/{address}"
        self._num_keep_alive_refs = self._layout.max_frames + num_steps + _CHUNK_ROWS
        # Of the last n + 1 observations: for each column, references to what was sent.
        self._observations: collections.deque[tuple[Any, ...]] = collections.deque(
            maxlen=num_steps + 1
        )
        self._writer: reverb.TrajectoryWriter | None = None
        self._num_unsent_items = 0
        self._num_pending_items = 0  # At most.
        self.num_dropped_items = 0

    def add_first(self, timestep: dm_env.TimeStep) -> None:
        """Begins an episode. An unfinished one before it keeps the items it has."""
        leaves = self._steps.first(timestep)
        self._observations.clear()
        if self._writer is None:
            self._writer = self._connect(self._connect_timeout_secs)
        self._begin(leaves)

    def add(
        self, action: Any, next_timestep: dm_env.TimeStep, extras: Any = ()
    ) -> None:
        """Adds a step: an action and what came of it.

        Raises:
            ValueError: No episode has begun, extra fields, or a value which does not
                fit its spec or is not finite. Nothing of the step is stored then.
        """
        if self._writer is None and self._should_stop():
            return
        step = self._steps.next(action, next_timestep, extras)
        if self._observations:
            try:
                self._send(step)
            except RuntimeError as error:
                self._reconnect(error)
        if not self._observations and not next_timestep.last():
            self._steps.restart()
            self._begin(step.leaves)
        if next_timestep.last():
            self.reset()

    def reset(self) -> None:
        """Forgets the unfinished episode, if any. Its items in replay stay there."""
        self._steps.reset()
        self._observations.clear()

    def flush(self) -> None:
        """Waits until the server has confirmed every item, or `should_stop`."""
        if self._writer is None:
            return
        try:
            self._wait_for_confirmations(0)
        except RuntimeError as error:
            self._reconnect(error)

    def close(self) -> None:
        """Ends the connection. Items not confirmed may be lost: `flush` first."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _begin(self, leaves: list[np.ndarray]) -> None:
        """Sends the observation with which an episode, or the rest of one, begins."""
        while self._writer is not None:  # It is None where a stop was asked for.
            try:
                for row in self._layout.first_rows(leaves):
                    self._writer.append({"observation": row})
                self._observations.append(self._latest_observation())
                return
            except RuntimeError as error:
                self._reconnect(error)

    def _send(self, step: steps.Step) -> None:
        """Sends a step and the items that it completes.

        Raises:
            RuntimeError: The server has gone.
        """
        assert self._writer is not None
        self._num_unsent_items = len(step.items)
        row = {"observation": self._layout.row(step.leaves)}
        if step.items:
            self._writer.append({**row, "step": _step_values(step.items[0])})
        else:
            self._writer.append(row)
        self._observations.append(self._latest_observation())
        for index, item in enumerate(step.items):
            if index > 0:
                self._writer.append({"step": _step_values(item)})
            if not self._wait_for_confirmations(self._max_in_flight_items - 1):
                return
            self._writer.create_item(
                self._table,
                priority=1.0,
                trajectory={
                    "observation": self._observations[-1 - item.num_steps],
                    "next_observation": self._observations[-1],
                    "step": self._writer.history["step"][-1],
                },
            )
            self._num_unsent_items -= 1
            self._num_pending_items += 1

    def _reconnect(self, error: RuntimeError) -> None:
        """Drops what was not confirmed, and waits for a server to answer again."""
        assert self._writer is not None
        num_dropped_items = self._num_unsent_items + self._num_pending_items
        pulse.current().say(
            f"{self._replay} went away ({error}); {num_dropped_items} transitions not "
            "confirmed were dropped."
        )
        self.num_dropped_items += num_dropped_items
        self._num_unsent_items = self._num_pending_items = 0
        self._observations.clear()
        # The old connection would look for the server ever more rarely, up to once in
        # two minutes, and every new one of this process along with it.
        self._writer.close()
        self._writer = None
        self._writer = self._connect(math.inf)

    def _connect(self, timeout_secs: float) -> reverb.TrajectoryWriter | None:
        """Waits for the server; None if told to stop before it answers."""
        deadline = time.monotonic() + timeout_secs
        with pulse.current().waiting(f"{self._replay}: no answer"):
            while True:
                client = reverb.Client(self._address)
                try:
                    tables = client.server_info(_WAIT_SECS)
                    break
                except (reverb.DeadlineExceededError, RuntimeError) as error:
                    if self._should_stop():
                        return None
                    if time.monotonic() >= deadline:
                        raise TimeoutError(
                            f"The replay server at {self._address} did not answer "
                            f"within {timeout_secs:g} s; see its log."
                        ) from error
                    if isinstance(error, RuntimeError):  # At once.
                        time.sleep(_PAUSE_SECS)
        replay_tables.check_served(tables, self._table, self._signature, self._address)
        writer = client.trajectory_writer(self._num_keep_alive_refs)
        # Each chunk costs Reverb about 1 KB beside what is in it, so two rows share
        # one. With more, each sample would bring rows that it has no use for.
        paths = [("observation", index) for index in range(len(self._layout.columns))]
        for path in [*paths, ("step",)]:
            writer.configure(
                path,
                num_keep_alive_refs=self._num_keep_alive_refs,
                max_chunk_length=_CHUNK_ROWS,
            )
        return writer

    def _latest_observation(self) -> tuple[Any, ...]:
        """Refers to the newest observation, as the table's signature has it."""
        assert self._writer is not None
        return tuple(
            history[-1] if column.num_frames is None else history[-column.num_frames :]
            for column, history in zip(
                self._layout.columns, self._writer.history["observation"], strict=True
            )
        )

    def _wait_for_confirmations(self, max_pending_items: int) -> bool:
        """Waits until no more items are pending; False if told to stop instead.

        Raises:
            RuntimeError: The server has gone.
        """
        if self._confirmed(max_pending_items):
            return True
        what = f"{self._replay}: {self._num_pending_items} items not confirmed"
        with pulse.current().waiting(what):
            while not self._should_stop():
                # By itself Reverb says nothing, and tries to connect for ever.
                if not servers.is_listening(self._address):
                    raise RuntimeError("nobody listens at its address")
                if self._confirmed(max_pending_items):
                    return True
        return False

    def _confirmed(self, max_pending_items: int) -> bool:
        """Waits a while until no more items are pending; returns whether it is so."""
        assert self._writer is not None
        try:
            self._writer.flush(max_pending_items, timeout_ms=1000 * _WAIT_SECS)
        except reverb.DeadlineExceededError:
            return False
        self._num_pending_items = min(self._num_pending_items, max_pending_items)
        return True


def _step_values(item: n_step.NStepItem) -> np.ndarray:
    return np.array([item.action, item.reward, item.discount], np.float32)
