"""What one node goes on from: its counts, statistics and random generators.

One JSON file a node, `state/<node>.json`, written now and then and when the node ends;
beside it `<node>.npz`, where the node keeps vectors as long as the parameters.
Whether the node is started again in its program, or the whole run is resumed, is all
the same to it: it finds the file, or starts afresh.
"""

import json
import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from rlcomponents import array_files, pulse, seeding, states
from rlcomponents.runs import atomic_files
from rlcomponents.runs import disk as disks

EMPTY: dict[str, Any] = {"life": -1, "ended": False, "agent_steps": 0, "parts": {}}
"""State of a node that has not lived yet."""


class Saveable(Protocol):
    """A part of a node, whose state is small."""

    def save(self) -> states.State:
        """Returns what `restore` needs."""

    def restore(self, state: states.State) -> None:
        """Goes on from what `save` returned."""


class SaveableArrays(Protocol):
    """A part of a node that is arrays, too large for JSON."""

    def save(self) -> Mapping[str, np.ndarray]:
        """Returns what `restore` needs."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Goes on from what `save` returned.

        Raises:
            ValueError: It is something else; nothing has changed.
        """


class NodeState:
    """Keeps the parts of one node in its file. For one thread.

    Attributes:
        life: How often the node was started before, in this program or in those that
            were resumed. Random numbers of a later life must be others: derive the
            seeds with it.
        agent_steps: Of all actors together, when the node last said.
    """

    def __init__(
        self,
        path: pathlib.Path,
        *,
        period_secs: float,
        disk: disks.Disk | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Reads the file, and notes in it that the node lives once more.

        Args:
            path: The file, which may be missing; its folder is made.
            period_secs: Seconds from one save to the next.
            disk: What to say where the file cannot be written. None: on the screen.
            clock: Returns seconds since any moment.
        """
        self._path = path
        self._period_secs = period_secs
        self._disk = disk or disks.Disk()
        self._clock = clock
        self._next_secs = clock() + period_secs
        self._parts: dict[str, Saveable] = {}
        self._arrays: SaveableArrays | None = None
        self._found = read(path) or EMPTY
        self.life = max(self._found["life"] + 1, pulse.current().starts)
        self.agent_steps = int(self._found["agent_steps"])
        self._write(self._found["parts"], ended=False)

    def keep(self, name: str, part: Saveable, *, only_if_ended: bool = False) -> None:
        """Lets a part go on from what was saved of it, and saves it from now on.

        Args:
            name: Of the part.
            part: It goes on before this returns.
            only_if_ended: Whether it goes on only where the life before came to its
                end. Where that was cut short, numbers were drawn and steps counted
                after the last save: restored, a part would do so again. So it stays as
                it was made; a generator from a seed that is derived with `life`.
        """
        if name in self._found["parts"] and (self._found["ended"] or not only_if_ended):
            part.restore(states.from_json(self._found["parts"][name]))
        self._parts[name] = part

    def keep_generator(self, name: str, rng: np.random.Generator) -> None:
        """Keeps a random generator."""
        self.keep(name, _Generator(rng), only_if_ended=True)

    def keep_arrays(self, part: SaveableArrays) -> None:
        """Lets the one part that is arrays go on, and saves it from now on.

        Where the life before was cut short, it goes on from the last save.

        Args:
            part: It goes on before this returns. A file that is damaged or of
                something else is named on the screen, and it stays as it was made.
        """
        self._arrays = part
        path = arrays_path(self._path)
        try:
            part.restore(array_files.read(path))
        except FileNotFoundError:
            pass  # A fresh run, or one that was saved without.
        except ValueError as error:
            pulse.current().say(
                f"{path} is skipped, and what it held begins anew: {error}"
            )

    def save_if_due(self, agent_steps: int) -> None:
        """Saves where the period is over.

        Args:
            agent_steps: Of all actors together, as far as the node knows.
        """
        self.agent_steps = agent_steps
        if self._clock() >= self._next_secs:
            self.save()

    def save(self, *, ended: bool = False) -> None:
        """Saves now.

        Args:
            ended: Whether nothing changes any more in this life.
        """
        if self._arrays is not None:
            path = arrays_path(self._path)
            with self._disk.survived(str(path)):
                array_files.replace(path, self._arrays.save())
        parts = {
            name: states.to_json(part.save()) for name, part in self._parts.items()
        }
        self._write(parts, ended=ended)
        self._next_secs = self._clock() + self._period_secs

    def _write(self, parts: dict[str, Any], *, ended: bool) -> None:
        state = {
            "life": self.life,
            "ended": ended,
            "agent_steps": self.agent_steps,
            "parts": parts,
        }
        with self._disk.survived(str(self._path)):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic_files.write_json(self._path, state, lasting=False)


def arrays_path(path: pathlib.Path) -> pathlib.Path:
    """Returns the file of a node's arrays, which lies beside its own."""
    return path.with_suffix(".npz")


def read(path: pathlib.Path) -> dict[str, Any] | None:
    """Returns what a `NodeState` has written; None where there is no such file.

    One that is damaged or of another kind counts as missing; a sentence says so.
    """
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        print(f"{path} is no state of a node ({error}): it starts afresh.", flush=True)
        return None


def parse(payload: bytes) -> dict[str, Any]:
    """Returns the state in the bytes of a node's file.

    Raises:
        ValueError: They are something else.
    """
    state = json.loads(payload)
    missing = EMPTY.keys() - (state.keys() if isinstance(state, dict) else ())
    if missing:
        raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    return dict(state)


class _Generator:
    """Saves a NumPy generator, which it shares with whoever draws from it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def save(self) -> states.State:
        return seeding.save_generator(self._rng)

    def restore(self, state: states.State) -> None:
        seeding.restore_generator(self._rng, state)
