"""Tests of what a program leaves behind whose processes are all killed at once."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rlcomponents.runs import checkpoints, metrics, node_state, run_folder

NUM_KILLS = 20

WORKER = """
import pathlib, sys
from rlcomponents.runs import metrics, node_state

folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
state = node_state.NodeState(folder / "state" / f"{name}.json", period_secs=0.0)


class Count:
    value = 0

    def save(self):
        return {"value": self.value, "again": self.value}

    def restore(self, state):
        self.value = state["value"]


count = Count()
state.keep("count", count)
writer = metrics.MetricsWriter(folder / "metrics" / f"{name}.csv", ("value", "again"))
while True:
    count.value += 1
    writer.write({"value": count.value, "again": count.value})
    state.save_if_due(count.value)
"""

COORDINATOR = """
import pathlib, subprocess, sys
import numpy as np
from rlcomponents.nodes import program_checkpoints
from rlcomponents.runs import run_folder

folder = run_folder.RunFolder(sys.argv[1])
for name in ("worker-0", "worker-1"):
    subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1], name])


class Shard:
    steps = 0

    def save(self):
        self.steps += 1
        values = np.full(50_000, self.steps, np.float32)
        counts = dict.fromkeys(("steps", "updates", "epoch"), self.steps)
        return {"parameters": values, **counts}


first = Shard()
first.steps = int(sys.argv[3])
shards = [first, Shard()]
saving = program_checkpoints.ProgramCheckpoints(folder, shards, facts={}, num_kept=2)
while True:
    saving.save()
    print(first.steps, flush=True)
"""


def is_free_of_tensorflow():
    code = (
        "import sys; from rlcomponents.nodes import program_checkpoints; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    return subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.integration
def test_the_newest_checkpoint_loads_at_whatever_moment_all_are_killed(tmp_path):
    assert is_free_of_tensorflow()
    folder = run_folder.RunFolder.create(tmp_path / "run")
    rng = random.Random(0)
    newest = 0
    for _ in range(NUM_KILLS):
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", COORDINATOR),
                *(str(folder.path), WORKER, str(newest)),
            ],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        published = int(process.stdout.readline())
        time.sleep(rng.uniform(0.0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        lines = process.communicate()[0].split()
        published = max([published, *map(int, lines)])

        path = checkpoints.latest(folder.checkpoints)
        parts, facts = checkpoints.load(path)
        newest = facts["agent_steps"]
        assert newest >= published
        np.testing.assert_array_equal(
            parts["parameters_0"]["parameters"], np.full(50_000, newest)
        )
        assert_states_are_whole(checkpoints.load_documents(path))
        assert_states_are_whole(
            {file.name: file.read_bytes() for file in folder.state.glob("*.json")}
        )
        assert_rows_are_whole(folder.metrics)


def assert_states_are_whole(documents):
    for payload in documents.values():
        counts = node_state.parse(payload)["parts"].get("count", {})
        assert len(set(counts.values())) <= 1
        json.loads(payload)


def assert_rows_are_whole(directory: pathlib.Path):
    for path in directory.glob("*.csv"):
        for row in metrics.MetricsFile(path).read_new():
            assert row["value"] == row["again"]
