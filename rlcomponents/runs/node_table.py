"""nodes.json: how each node of a running program is, rewritten about once a second.

The launcher writes it; whoever looks at a run from outside (a table on the screen, a
page in the browser, a tool that does harm on purpose) reads it.
"""

import dataclasses
import json
import pathlib
from collections.abc import Sequence

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
        return [NodeRow(**row) for row in json.loads(text)]
    except (json.JSONDecodeError, TypeError) as error:
        raise ValueError(f"{path} is no table of nodes ({error}).") from error
