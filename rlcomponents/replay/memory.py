"""Replay in the memory of one process, for one thread that acts and learns.

Reverb's sampler cannot be seeded, and its server works in threads of its own: two runs
of one seed differ. Here nothing is left to chance but the draws of one generator, and
all of it is saved, so that a run that was stopped goes on to the same parameters, to
the bit, as one that was not.

No Reverb and no TensorFlow.
"""

import errno
import io
import json
import zipfile
import zlib
from typing import IO, Any

import dm_env
import numpy as np
from acme import adders as acme_adders

from rlcomponents import pulse, seeding, specs, states
from rlcomponents.replay import limits as replay_limits
from rlcomponents.replay import rows as replay_rows
from rlcomponents.replay import steps, transitions

_FORMAT = "rlcomponents replay 1"
_STATE, _ITEMS, _COLUMN = "state.json", "items.npy", "column_{}.npy"
_OF_TORN_FILES = (None, errno.EINVAL)  # As of a jump to before the file's beginning.
_ITEM = np.dtype(
    [
        ("row", np.int64),  # Of the last observation.
        ("first_row", np.int64),  # Of the episode.
        ("num_steps", np.int32),
        ("action", np.int32),
        ("reward", np.float32),
        ("discount", np.float32),
    ]
)


class MemoryReplay(acme_adders.Adder):
    """Adder and batch source in one; see `TransitionAdder` for what an item is.

    Not thread-safe. The newest `limits.max_items` items are kept, and batches are drawn
    from them uniformly, with replacement. Each observation is kept once: a stack of
    frames as its newest frame, and an episode whose first stack repeats one frame
    begins with that one.

    Attributes:
        num_added_steps: Calls of `add`, in all lives of this replay: what it holds is
            of the moment that this count says.
    """

    def __init__(
        self,
        environment_spec: specs.EnvironmentSpec,
        limits: replay_limits.ReplayLimits,
        *,
        num_steps: int,
        discount: float,
        rng: np.random.Generator,
        max_abs_reward: float | None = None,
    ) -> None:
        """Starts empty.

        Args:
            environment_spec: Of the environment.
            limits: Capacity, minimum fill and size of a batch.
            num_steps: Steps that an item spans, n.
            discount: gamma per agent step.
            rng: Of the draws. Saved and restored with the items.
            max_abs_reward: Each step's reward is clipped to this size. None: not.

        Raises:
            ValueError: A setting outside its range, actions that cannot be stored, or a
                ratio of samples to inserts, which one thread keeps by itself.
        """
        if limits.samples_per_insert is not None:
            raise ValueError(
                f"samples_per_insert is {limits.samples_per_insert}: a replay in "
                "memory holds nobody up; use None."
            )
        self._steps = steps.EpisodeSteps(
            environment_spec,
            num_steps=num_steps,
            discount=discount,
            max_abs_reward=max_abs_reward,
        )
        self._limits = limits
        self._rng = rng
        self._layout = self._steps.layout
        self._rows = replay_rows.RowStore(self._layout)
        self._items = np.zeros(limits.max_items, _ITEM)  # A ring.
        self._oldest = 0
        self._num_items = 0
        self._first_row = 0  # Of the episode.
        self.num_added_steps = 0
        # Of this life only: for whoever watches, who asks how fast they grow.
        self._num_inserted = self._num_sampled = 0

    @property
    def num_items(self) -> int:
        """Items held now."""
        return self._num_items

    @property
    def in_episode(self) -> bool:
        """Whether `add` may be called: an episode has begun and has not ended."""
        return self._steps.in_episode

    def add_first(self, timestep: dm_env.TimeStep) -> None:
        """Begins an episode. An unfinished one before it keeps the items it has."""
        leaves = self._steps.first(timestep)
        self._drop_rows_without_items()
        self._first_row = self._rows.end
        if self._layout.is_one_row(leaves):
            self._rows.append(self._layout.row(leaves))
        else:
            for row in self._layout.first_rows(leaves):
                self._rows.append(row)

    def add(
        self, action: Any, next_timestep: dm_env.TimeStep, extras: Any = ()
    ) -> None:
        """Adds a step: an action and what came of it.

        Raises:
            ValueError: No episode has begun, extra fields, or a value which does not
                fit its spec or is not finite. Nothing of the step is stored then.
        """
        leaves, items = self._steps.next(action, next_timestep, extras)
        row = self._rows.append(self._layout.row(leaves))
        self.num_added_steps += 1
        for item in items:
            self._insert(
                row,
                self._first_row,
                item.num_steps,
                item.action,
                item.reward,
                item.discount,
            )

    def reset(self) -> None:
        """Forgets the unfinished episode, if any. Its items stay."""
        self._steps.reset()
        self._drop_rows_without_items()

    def next_batch(self, timeout_secs: float) -> transitions.Transition | None:
        """Returns a batch of NumPy arrays, or None: both at once.

        Nobody else could add to it meanwhile. The arrays are new ones.
        """
        del timeout_secs
        if self._num_items < self._limits.min_items:
            return None
        # Counted from the oldest: equal draws find equal items wherever the ring is.
        ages = self._rng.integers(self._num_items, size=self._limits.batch_size)
        self._num_sampled += len(ages)
        pulse.current().show(sampled_items=self._num_sampled)
        items = self._items[(self._oldest + ages) % len(self._items)]
        first_rows, last_rows = items["first_row"], items["row"]
        return transitions.Transition(
            self._observation(last_rows - items["num_steps"], first_rows),
            items["action"].copy(),
            items["reward"].copy(),
            items["discount"].copy(),
            self._observation(last_rows, first_rows),
        )

    def close(self) -> None:
        """Does nothing: the memory goes with the object."""

    def write(self, file: IO[bytes]) -> None:
        """Writes all of its state: an `.npz` with `state.json` in it; no pickle.

        Arrays go straight from where they are into the file, lightly compressed: the
        screens of Pong shrink 69 times, at 700 MB a second. To have the file whole or
        not at all is the caller's affair.
        """
        state = {
            "format": _FORMAT,
            "begin_row": self._rows.begin,
            "first_row": self._first_row,
            "num_added_steps": self.num_added_steps,
            "steps": self._steps.save(),
            "rng": seeding.save_generator(self._rng),
        }
        end = self._oldest + self._num_items
        newer = max(0, end - len(self._items))  # Round the corner of the ring.
        with zipfile.ZipFile(
            file, "w", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as archive:
            # By `open`, whose members have no time: equal replays make equal files.
            with archive.open(_STATE, "w") as member:
                member.write(json.dumps(states.to_json(state)).encode())
            with archive.open(_ITEMS, "w", force_zip64=True) as member:
                replay_rows.write_header(member, _ITEM, (self._num_items,))
                for part in (self._items[self._oldest : end], self._items[:newer]):
                    member.write(part.view(np.uint8).data)
            for index in range(len(self._layout.columns)):
                name = _COLUMN.format(index)
                with archive.open(name, "w", force_zip64=True) as member:
                    self._rows.write(index, member)

    def read(self, file: IO[bytes]) -> int:
        """Goes on from what `write` wrote, also under another capacity.

        The unfinished episode goes on, too, unless n-step returns are other ones now:
        `in_episode` says so.

        Returns:
            The number of items that found no room: the oldest ones.

        Raises:
            ValueError: The file is torn, or of another kind or environment. Nothing has
                changed then.
            OSError: The file cannot be read now. Nothing has changed then, either.
        """
        try:
            with zipfile.ZipFile(file) as archive:
                return self._read(archive)
        except (
            OSError,
            EOFError,
            KeyError,
            ValueError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            # Where the disk fails, zipfile may say that the file is none of its own.
            for cause in (error, error.__context__):
                if isinstance(cause, OSError) and cause.errno not in _OF_TORN_FILES:
                    raise cause from None
            raise ValueError(
                f"This is no replay of this environment ({error}): it is torn, or was "
                "saved by another run."
            ) from error

    def _read(self, archive: zipfile.ZipFile) -> int:
        state = states.from_json(json.loads(archive.read(_STATE)))
        if state["format"] != _FORMAT:
            raise ValueError(f"its format is {state['format']!r}, not {_FORMAT!r}")
        items = np.load(io.BytesIO(archive.read(_ITEMS)), allow_pickle=False)
        if items.dtype != _ITEM:
            raise ValueError("its items are of another kind")
        num_dropped = max(0, len(items) - len(self._items))
        items = items[num_dropped:]
        rows = replay_rows.RowStore(self._layout)
        keep_from = self._begin_row(items[0]) if len(items) else state["begin_row"]
        names = [_COLUMN.format(index) for index in range(len(self._layout.columns))]
        rows.read([archive.open(name) for name in names], state["begin_row"], keep_from)
        seeding.restore_generator(self._rng, state["rng"])
        self._steps.restore(state["steps"])
        self._rows = rows
        self._items[: len(items)] = items
        self._oldest, self._num_items = 0, len(items)
        self._first_row = state["first_row"]
        self.num_added_steps = state["num_added_steps"]
        if not self.in_episode:
            self._drop_rows_without_items()
        return num_dropped

    def _insert(self, *item: float) -> None:
        if self._num_items == len(self._items):
            self._oldest = (self._oldest + 1) % len(self._items)
            self._num_items -= 1
        self._num_items += 1
        self._items[self._newest] = item
        self._num_inserted += 1
        pulse.current().show(
            replay_items=self._num_items,
            replay_capacity_items=len(self._items),
            inserted_items=self._num_inserted,
        )
        self._rows.drop_before(self._begin_row(self._items[self._oldest]))

    @property
    def _newest(self) -> int:
        return (self._oldest + self._num_items - 1) % len(self._items)

    def _begin_row(self, item: np.void) -> int:
        """Returns the first row that an item refers to."""
        begin = item["row"] - item["num_steps"] - self._layout.max_frames + 1
        return max(int(begin), int(item["first_row"]))

    def _drop_rows_without_items(self) -> None:
        """Drops the rows of an unfinished episode that no item came of."""
        end = self._rows.begin
        if self._num_items:
            end = int(self._items[self._newest]["row"]) + 1
        self._rows.drop_from(end)

    def _observation(self, rows: np.ndarray, first_rows: np.ndarray) -> Any:
        return self._layout.observation(self._rows.observations(rows, first_rows))
