"""Keeps the parameters with the best evaluation so far, in a checkpoint of theirs."""

import math
from collections.abc import Mapping
from typing import Any

from rlcomponents import core
from rlcomponents.runs import checkpoints, run_folder
from rlcomponents.runs import disk as disks


class BestParameters:
    """Saves what was evaluated where it is better than all before. For one thread.

    Over all lives of the evaluator, and over resumed runs: what is in the folder says
    how good it is. A run that is resumed from a checkpoint before the best one has not
    come that far; so the best one before each checkpoint of the run is kept as well.
    """

    def __init__(
        self,
        folder: run_folder.RunFolder,
        *,
        facts: Mapping[str, Any],
        disk: disks.Disk | None = None,
    ) -> None:
        """Looks at what was saved before.

        Args:
            folder: The run's.
            facts: Noted in the checkpoint, along with its counts and return.
            disk: Says where the disk takes no more. None: on the screen.
        """
        self._directory = folder.best_checkpoint
        self._checkpoints = folder.checkpoints
        self._facts = facts
        self._disk = disk or disks.Disk()
        self._mean_return = -math.inf
        path = checkpoints.latest(self._directory, thorough=True)
        if path is not None:
            facts_before = checkpoints.read_manifest(path)["facts"]
            self._mean_return = float(facts_before["mean_return"])

    def offer(self, snapshot: core.Snapshot, mean_return: float) -> None:
        """Saves parameters where their return is the best so far.

        Args:
            snapshot: What was evaluated.
            mean_return: Of the evaluation.
        """
        if not mean_return > self._mean_return:
            return
        with self._disk.survived(str(self._directory)):
            checkpoints.save(
                self._directory,
                agent_steps=snapshot.steps,
                parts={"parameters_0": {"parameters": snapshot.vector}},
                versions={
                    "parameters_0": {
                        "epoch": snapshot.versions[0].epoch,
                        "updates": snapshot.updates,
                        "steps": snapshot.steps,
                    }
                },
                facts={
                    **self._facts,
                    "agent_steps": snapshot.steps,
                    "updates": snapshot.updates,
                    "num_parameter_shards": 1,
                    "mean_return": mean_return,
                },
                num_kept=self._num_kept(snapshot.steps),
            )
            self._mean_return = mean_return

    def _num_kept(self, steps: int) -> int:
        """Returns how many are needed, with the one of these steps.

        Those newer than the oldest checkpoint of the run, and one at or before that.
        """
        saved = checkpoints.listed(self._checkpoints)
        if not saved:
            return 1
        oldest_steps, _ = saved[0]
        bests = [steps, *(each for each, _ in checkpoints.listed(self._directory))]
        num_newer = sum(each > oldest_steps for each in bests)
        return num_newer + 1 if steps > oldest_steps else max(1, num_newer)
