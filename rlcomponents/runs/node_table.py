"""nodes.json: how each node of a running program is, rewritten about once a second.

The launcher writes it; whoever looks at a run from outside (a table on the screen, a
page in the browser, a tool that does harm on purpose) reads it.
"""

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

from rlcomponents.runs import atomic_files

STATES = ("starting", "running", "died", "ended")
"""Of those that died, some are started again soon; a program that ends starts none."""

SHOWN = (
    "agent_steps",
    "updates",
    "discarded",
    "staleness_updates",
    "inserted_items",
    "sampled_items",
    "replay_items",
    "replay_capacity_items",
)
"""Numbers that a node may show in its pulse: fields of a `NodeRow`."""

GOOD, BUSY, BAD = "good", "busy", "bad"
"""How a node is: all is well, it waits for others, it is in trouble."""

_WAIT_SECS = 1.0  # Shorter waits are part of the work.
_SILENCE_SECS, _START_SILENCE_SECS = 10.0, 60.0  # Nothing comes while libraries load.
_SHARDS = "parameters"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeRow:
    """One node, as of the last time that the launcher heard of it.

    Attributes:
        name: `group/index`.
        state: One of `STATES`.
        pid: Of its process; that of the launcher where nodes are threads. None while it
            has none.
        starts: How often it was started before.
        steps: Steps of its work completed since its start.
        steps_per_sec: Of the last seconds.
        waiting_for: What it waits for, in words. None while it works.
        waiting_secs: For how long.
        silent_secs: Since its last sign of life.
        cpu_fraction: Cores that it keeps busy: 1.0 is one whole core.
        memory_bytes: Resident.
        agent_steps: Counted by it, like all counts below: in all its lives, or in this
            one. None where it counts no such thing, like all fields below.
        agent_steps_per_sec: Of the last seconds, like all rates.
        updates: Gradients that it has pushed; of a shard: applied.
        updates_per_sec: The same, as a rate.
        discarded: Gradients discarded: by a shard, or of those that a worker computed,
            whoever discarded them.
        staleness_updates: Mean age of gradients when they arrived: of a worker's in the
            last second, of all that a shard applied.
        inserted_items: Transitions that went into a replay.
        inserts_per_sec: The same, as a rate.
        sampled_items: Transitions drawn from it.
        samples_per_sec: The same, as a rate.
        replay_items: Transitions in it.
        replay_capacity_items: At most so many.
        host: Address at which its servers listen. None without servers, or where it
            shares the address with other nodes.
        log_path: Its log file.
        calls: Names of the nodes that it was given handles of.
    """

    name: str
    state: str
    log_path: str
    pid: int | None = None
    starts: int = 0
    steps: int = 0
    steps_per_sec: float = 0.0
    waiting_for: str | None = None
    waiting_secs: float = 0.0
    silent_secs: float = 0.0
    cpu_fraction: float = 0.0
    memory_bytes: int = 0
    agent_steps: float | None = None
    agent_steps_per_sec: float | None = None
    updates: float | None = None
    updates_per_sec: float | None = None
    discarded: float | None = None
    staleness_updates: float | None = None
    inserted_items: float | None = None
    inserts_per_sec: float | None = None
    sampled_items: float | None = None
    samples_per_sec: float | None = None
    replay_items: float | None = None
    replay_capacity_items: float | None = None
    host: str | None = None
    calls: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """What it is: all nodes of a group do the same."""
        return self.name.rpartition("/")[0]


class Condition(NamedTuple):
    """How a node is.

    Attributes:
        words: For people; the first of them is enough.
        level: `GOOD`, `BUSY` or `BAD`.
    """

    words: str
    level: str


def condition(row: NodeRow) -> Condition:
    """Judges a node of a program that goes on."""
    patience_secs = _SILENCE_SECS if row.steps else _START_SILENCE_SECS
    is_alive = row.state in ("starting", "running")
    words, level = row.state, GOOD
    if row.state == "died":
        level = BAD
    elif is_alive and row.silent_secs > patience_secs:
        words, level = f"silent for {row.silent_secs:.0f} s", BAD
    elif is_alive and row.waiting_for and row.waiting_secs >= _WAIT_SECS:
        words, level = f"waits for {row.waiting_for}", BUSY
    if row.starts:
        words += f", restarted {row.starts}x"
    return Condition(words, level)


def are_threads(rows: Sequence[NodeRow]) -> bool:
    """Whether the nodes, of which there are several, share one process."""
    return len(rows) > 1 and rows[0].pid is not None and len({r.pid for r in rows}) == 1


def total(rows: Sequence[NodeRow], column: str) -> float | None:
    """Returns the sum of a number over nodes; None where none of them counts it."""
    values = [getattr(row, column) for row in rows]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def total_of_work(rows: Sequence[NodeRow], column: str) -> float | None:
    """The same over nodes of one group, for what is done.

    Each shard has its part in every update: together they do as many as one.
    """
    sum_of_all = total(rows, column)
    is_shards = rows[0].group == _SHARDS
    return (
        sum_of_all / len(rows) if sum_of_all is not None and is_shards else sum_of_all
    )


def mean(rows: Sequence[NodeRow], column: str) -> float | None:
    """Returns the mean over the nodes that count this; None where none does."""
    known = [value for row in rows if (value := getattr(row, column)) is not None]
    return sum(known) / len(known) if known else None


def write(path: pathlib.Path, rows: Sequence[NodeRow]) -> None:
    """Replaces the table. Waits for no disk: who writes it also watches the nodes.

    Raises:
        OSError: As where the disk is full.
    """
    atomic_files.write_json(
        path, [dataclasses.asdict(row) for row in rows], lasting=False
    )


def read(path: pathlib.Path) -> list[NodeRow]:
    """Returns the table; empty where there is none yet.

    Raises:
        ValueError: The file is no such table.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    try:
        return [
            NodeRow(**{**row, "calls": tuple(row.get("calls", ()))})
            for row in json.loads(text)
        ]
    except (json.JSONDecodeError, AttributeError, TypeError) as error:
        raise ValueError(f"{path} is no table of nodes ({error}).") from error
