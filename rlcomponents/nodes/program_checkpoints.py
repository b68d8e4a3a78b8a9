"""Saves a whole program: every parameter shard, and every node's own state."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rlcomponents.runs import checkpoints, node_state, run_folder


class Shard(Protocol):
    """What is saved of the store: a `parameters.shard.ParameterShard`, or a store."""

    def save(self) -> dict[str, np.ndarray | int]:
        """Returns parameters, target copy, optimiser slots and counts."""


class ProgramCheckpoints:
    """Saves checkpoints of one program into its run folder. For one thread."""

    def __init__(
        self,
        folder: run_folder.RunFolder,
        shards: Sequence[Shard],
        *,
        facts: Mapping[str, Any],
        num_kept: int,
    ) -> None:
        """Stores its parts.

        Args:
            folder: The run's.
            shards: All parameter shards, in the order of the vector.
            facts: Noted in each checkpoint, along with its counts.
            num_kept: How many of the newest are kept.
        """
        self._folder = folder
        self._shards = shards
        self._facts = facts
        self._num_kept = num_kept
        self._saved: tuple[list[dict[str, Any]], dict[str, bytes]] | None = None

    def save(self) -> None:
        """Saves what there is now.

        Not where a shard holds no parameters yet, nor where all is as it was at the
        last save: the counts of every shard, and what every node wrote.

        Raises:
            OSError: The disk took no more; the checkpoints before are as they were.
        """
        states = [shard.save() for shard in self._shards]
        if not all("parameters" in state for state in states):
            return
        names = [f"parameters_{index}" for index in range(len(states))]
        versions = {
            name: {count: int(state[count]) for count in ("epoch", "updates", "steps")}
            for name, state in zip(names, states, strict=True)
        }
        node_paths = sorted(self._folder.state.glob("*.json"))
        documents = {path.name: path.read_bytes() for path in node_paths}
        counts = [
            {
                key: value
                for key, value in state.items()
                if not isinstance(value, np.ndarray)
            }
            for state in states
        ]
        if (counts, documents) == self._saved:
            return
        arrays_paths = [node_state.arrays_path(path) for path in node_paths]
        for name, document in documents.items():
            versions[name] = {
                count: value
                for count, value in json.loads(document).items()
                if type(value) is int
            }
        # As saved: training may have gone on since anybody looked.
        agent_steps, updates = int(states[0]["steps"]), int(states[0]["updates"])
        checkpoints.save(
            self._folder.checkpoints,
            agent_steps=agent_steps,
            parts={
                name: {key: np.asarray(value) for key, value in state.items()}
                for name, state in zip(names, states, strict=True)
            },
            documents=documents,
            files=[path for path in arrays_paths if path.exists()],
            versions=versions,
            facts={
                **self._facts,
                "agent_steps": agent_steps,
                "updates": updates,
                "num_parameter_shards": len(states),
                "time_secs": time.time(),
            },
            num_kept=self._num_kept,
        )
        self._saved = counts, documents
