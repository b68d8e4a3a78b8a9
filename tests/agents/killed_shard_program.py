"""A program of two parameter shards, one of which is killed, and a learner.

The test runs this as a script: `killed_shard_program.py RUN_DIR`. The learner pushes
numbered gradients, and writes what became of each into RUN_DIR/pushes.json.
"""

import dataclasses
import json
import os
import pathlib
import re
import signal
import sys
import threading

import launchpad as lp
import numpy as np

from agents import parameter_shards
from rlcomponents import pulse, schedules
from rlcomponents.launching import launcher
from rlcomponents.nodes import stopping
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import update_rules

LAYOUT = layouts.ParameterLayout(["w"], [(20,)])
KILLED_AFTER_UPDATES = 150
NUM_UPDATES_AFTER = 50


@dataclasses.dataclass(frozen=True)
class Config:
    num_parameter_shards: int = 2
    parameter_timeout_secs: float = 30.0
    snapshot_period_updates: int = 60


def make_settings(config):
    return {
        "rule": update_rules.MomentumSGD(0.5),
        "learning_rate": schedules.Constant(0.01),
        "max_staleness_updates": None,
        "target_period_updates": 10,
    }


def make_gradient(number):
    """Returns gradient `number`."""
    rng = np.random.default_rng(number)
    return rng.normal(size=LAYOUT.num_parameters).astype(np.float32)


class Learner:
    """Pushes one gradient after another."""

    def __init__(self, run_dir, shards):
        self._run_dir = run_dir
        self._pushes = []
        self._store = parameter_shards.open_store(
            Config(), LAYOUT, shards, stopping.wait_for_stop, max_gradient_norm=None
        )

    def run(self):
        self._store.initialise(np.zeros(LAYOUT.num_parameters, np.float32))
        before = self._store.pull()
        while before.updates < KILLED_AFTER_UPDATES:
            before = self._push(self._store.pull())
        killer = threading.Thread(target=self._kill)  # While pushes go on.
        killer.start()
        after = self._store.pull()
        while after.versions[1].epoch == before.versions[1].epoch:
            before = self._push(after)
            after = self._store.pull()
        killer.join()
        restored = after
        self._push(before)  # Computed from what the restored shard does not have.
        for _ in range(NUM_UPDATES_AFTER):
            after = self._push(self._store.pull())
        last = self._store.pull()
        results = {
            "pushes": self._pushes,
            "restored_updates": restored.versions[1].updates,
            "restored_epoch": restored.versions[1].epoch,
            "parameters": last.vector.tolist(),
            "versions": last.versions,
        }
        path = pathlib.Path(self._run_dir, "pushes.json")
        path.write_text(json.dumps(results))
        lp.stop()

    def _push(self, snapshot):
        """Pushes the next gradient, as computed from a snapshot, which it returns."""
        gradient = make_gradient(len(self._pushes))
        result = self._store.push(gradient, snapshot.versions, steps=1)
        self._pushes.append([verdict.value for verdict in result.verdicts])
        pulse.current().completed_step()
        stopping.wait_for_stop(0.005)
        return snapshot

    def _kill(self):
        log = pathlib.Path(self._run_dir, "logs", "parameters-1.log").read_text()
        pid = re.search(r"parameters/1 starts as process (\d+)", log)[1]
        os.kill(int(pid), signal.SIGKILL)


def main(run_dir):
    pathlib.Path(run_dir, "state").mkdir(parents=True)
    program = lp.Program("killed_shard")
    shards = parameter_shards.add_nodes(program, Config(), run_dir, make_settings)
    with program.group("learner"):
        program.add_node(lp.PyClassNode(Learner, run_dir, shards))
    ending = launcher.launch(program, run_dir)
    print(json.dumps([restart.node for restart in ending.restarts]))
    return ending.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
