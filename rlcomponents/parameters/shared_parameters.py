"""How a store lies in shared memory: counts first, then arrays.

    header        64-bit integers: whether the rest is there, epoch, the target's clock
    description   JSON: what the arrays are, and for which network and settings
    counts        one row a worker, each in a cache line of its own
    arrays        parameters, target copy, statistics of the update rule, float32

Header, description and counts have a fixed size and exist from the first opening on.
The arrays come when a first worker knows how many parameters there are.

Nothing is locked for counting: a worker is the only writer of its row, and a reader
adds the rows up. (A count that all increment would lose some: reading and writing it
are two things.) Aligned 64-bit loads and stores are whole on x86-64, and seen by
others in the order in which they were made, so sums never go back.
"""

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from rlcomponents import core, kernels
from rlcomponents.parameters import saved_states, shared_memory

PARAMETERS = "parameters"
"""Name of the array of parameters."""

TARGET_PARAMETERS = "target_parameters"
"""Name of the target copy's array."""

SLOTS = "slots/"
"""Names of the arrays, and of the same in a saved state; `slots/<name>` for statistics
of the update rule."""

MAX_WORKERS = 255
"""That push or count steps at the same time. Those that only read need no row."""

_LINE_BYTES = 64
_DESCRIPTION_BYTES = slice(_LINE_BYTES, 16384)
_NUM_ROWS = 1 + MAX_WORKERS  # Row 0 has what a restored state had counted.
_COUNTS_START_BYTES = _DESCRIPTION_BYTES.stop
_ARRAYS_START_BYTES = 65536  # On any machine, a page begins here.

# Places in the header.
_IS_READY, _EPOCH, _TARGET_EPOCH, _TARGET_UPDATES, _TARGET_PHASE = range(5)

# Locks: that of each row but 0 is held by its worker for life.
_SET_UP_LOCK = 0
_TARGET_LOCK = _NUM_ROWS

_NUM_COUNTS = len(saved_states.ShardStatistics._fields)
STEPS, UPDATES, DISCARDED_STALE, DISCARDED_OTHER_EPOCH, STALENESS_SUM_UPDATES = range(
    _NUM_COUNTS
)
"""Places in a row: those of `ShardStatistics`."""


class SharedParameters:
    """The parameters in shared memory, with their statistics and counts.

    What a process without the network, such as a coordinator, reads and saves from;
    `SharedMemoryStore` is built on it. Thread-safe, but for what it says of the row.
    """

    def __init__(self, memory: shared_memory.OpenMemory) -> None:
        """Maps header and counts, which are made if nobody has."""
        memory.grow(_ARRAYS_START_BYTES)
        self._memory = memory
        self._control = memory.map(0, _ARRAYS_START_BYTES)
        self._integers = memoryview(self._control).cast("q")
        self._header = self._integers[: _LINE_BYTES // 8]
        self._rows = np.frombuffer(
            self._control,
            np.int64,
            _NUM_ROWS * _LINE_BYTES // 8,
            _COUNTS_START_BYTES,
        ).reshape(_NUM_ROWS, -1)
        self._arrays: dict[str, np.ndarray] | None = None
        self._row: memoryview | None = None

    def statistics(self) -> core.StoreStatistics:
        """See `core.ParameterStore`."""
        return self.counts().as_store()

    def counts(self) -> saved_states.ShardStatistics:
        """Returns the counts of all workers together."""
        return saved_states.ShardStatistics(*_add_up(self._rows))

    def save(self) -> dict[str, np.ndarray | int]:
        """Returns what `SharedMemoryStore.restore` needs.

        Not as of one moment: updates go on while this copies, as while a worker pulls.
        The target copy is whole.

        Returns:
            Counts as int. Once a worker has offered parameters, also copies of
            `parameters`, `target_parameters` (if kept) and `slots/<name>`, float32.
        """
        state: dict[str, np.ndarray | int] = {
            "epoch": self.epoch,
            **self.counts()._asdict(),
        }
        if self.is_ready:
            for name, array in self.arrays().items():
                if name == TARGET_PARAMETERS:
                    with self.target_locked():
                        state[name] = array.copy()
                        version = self.target_version
                    state["target_epoch"] = version.epoch
                    state["target_updates"] = version.updates
                else:
                    state[name] = array.copy()
        return state

    @property
    def is_ready(self) -> bool:
        """Whether there are parameters."""
        return bool(self._header[_IS_READY])

    @property
    def epoch(self) -> int:
        """See `core.Version`."""
        return self._header[_EPOCH]

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._header[_EPOCH] = epoch

    @property
    def target_version(self) -> core.Version:
        """At which the target copy was taken."""
        return core.Version(self._header[_TARGET_EPOCH], self._header[_TARGET_UPDATES])

    @property
    def target_phase(self) -> int:
        """`ShardRules.target_phase` when the target copy was taken."""
        return self._header[_TARGET_PHASE]

    def copy_target(self, version: core.Version, phase: int) -> None:
        """Takes the target copy. Needs `target_locked`."""
        arrays = self.arrays()
        arrays[TARGET_PARAMETERS][...] = arrays[PARAMETERS]
        self._set_target_clock(version, phase)

    def set_up_locked(self) -> contextlib.AbstractContextManager[None]:
        """Keeps others from making or restoring the arrays."""
        return self._memory.locked(_SET_UP_LOCK)

    def target_locked(self) -> contextlib.AbstractContextManager[None]:
        """Keeps others from writing, and from reading, the target copy."""
        return self._memory.locked(_TARGET_LOCK)

    def own_row(self) -> memoryview:
        """Returns the row of integers that this object alone writes.

        One thread at a time.

        It is that of an earlier worker where one has ended: its counts go on.

        Raises:
            RuntimeError: There are no more rows.
        """
        if self._row is None:
            for index in range(1, _NUM_ROWS):
                if self._memory.try_lock(index):
                    start = (_COUNTS_START_BYTES + index * _LINE_BYTES) // 8
                    self._row = self._integers[start : start + _LINE_BYTES // 8]
                    break
            else:
                raise RuntimeError(
                    f"{MAX_WORKERS} workers count in this shared memory already: run "
                    "fewer, or use parameter servers."
                )
        return self._row

    def restore_counts(self, counts: saved_states.ShardStatistics) -> None:
        """Makes the counts go on from others. Needs `set_up_locked`."""
        now = self.counts()
        for place, (new, old) in enumerate(zip(counts, now, strict=True)):
            self._rows[0, place] += new - old

    def write_arrays(
        self,
        facts: Mapping[str, str],
        arrays: Mapping[str, np.ndarray],
        *,
        target_version: core.Version,
        target_phase: int,
    ) -> None:
        """Makes the arrays, or overwrites them. Needs `set_up_locked`.

        Args:
            facts: What a store must have in common with this one to use them.
            arrays: Their values, float32. Copied.
            target_version: Of the target copy among them.
            target_phase: Of the same.

        Raises:
            ValueError: They exist, and were made with other facts.
        """
        if self.is_ready:
            written = self.arrays(facts)
        else:
            shapes = {name: array.shape for name, array in arrays.items()}
            self._memory.grow(_ARRAYS_START_BYTES + _size_bytes(shapes.values()))
            description = json.dumps({"facts": dict(facts), "shapes": shapes}).encode()
            size = _DESCRIPTION_BYTES.stop - _DESCRIPTION_BYTES.start
            self._control[_DESCRIPTION_BYTES] = description.ljust(size)
            written = dict(self._map_arrays(shapes))
        with self.target_locked():
            for name, array in arrays.items():
                written[name][...] = array
            self._set_target_clock(target_version, target_phase)
        self._header[_IS_READY] = 1  # Last: whoever sees it sees the rest.

    def arrays(self, facts: Mapping[str, str] | None = None) -> dict[str, np.ndarray]:
        """Returns the arrays, mapped. Others write to them at any time.

        Args:
            facts: Of the store that asks. None: any will do.

        Raises:
            NotInitialisedError: There are none yet.
            ValueError: They were made with other facts.
        """
        if self._arrays is None:
            if not self.is_ready:
                raise core.NotInitialisedError(
                    "The store holds no parameters yet: call initialise first."
                )
            description = json.loads(self._control[_DESCRIPTION_BYTES])
            for what, fact in (facts or {}).items():
                if fact != description["facts"][what]:
                    raise ValueError(
                        f"The shared memory was set up for another {what} "
                        f"({description['facts'][what]}) than this worker's ({fact}): "
                        "all workers must use the same network and settings."
                    )
            self._arrays = dict(self._map_arrays(description["shapes"]))
        return self._arrays

    def _set_target_clock(self, version: core.Version, phase: int) -> None:
        """Says when the target copy was taken. Needs `target_locked`.

        After the copy: if the process dies before, a copy is still due.
        """
        self._header[_TARGET_EPOCH] = version.epoch
        self._header[_TARGET_UPDATES] = version.updates
        self._header[_TARGET_PHASE] = phase

    def _map_arrays(
        self, shapes: Mapping[str, Sequence[int]]
    ) -> Iterator[tuple[str, np.ndarray]]:
        mapped = self._memory.map(_ARRAYS_START_BYTES, _size_bytes(shapes.values()))
        start_bytes = 0
        for name, shape in shapes.items():
            array = np.frombuffer(mapped, np.float32, math.prod(shape), start_bytes)
            yield name, array.reshape(shape)
            start_bytes += _size_bytes([shape])


@kernels.compiled
def _add_up(rows: np.ndarray) -> tuple[int, int, int, int, int]:
    """Returns the sums of the counts, in the order of a row."""
    steps = updates = stale = other_epoch = staleness_sum = 0
    for row in rows:
        steps += row[STEPS]
        updates += row[UPDATES]
        stale += row[DISCARDED_STALE]
        other_epoch += row[DISCARDED_OTHER_EPOCH]
        staleness_sum += row[STALENESS_SUM_UPDATES]
    return steps, updates, stale, other_epoch, staleness_sum


def _size_bytes(shapes: Iterable[Sequence[int]]) -> int:
    """Returns the size of float32 arrays that each begin in a cache line of its own."""
    lines = (-(-4 * math.prod(shape) // _LINE_BYTES) for shape in shapes)
    return _LINE_BYTES * sum(lines)
