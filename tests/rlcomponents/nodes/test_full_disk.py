"""Tests of training on while a disk is full, on a small one that really is."""

import shutil
import subprocess
import sys

import pytest

_MOUNT = "mount -t tmpfs -o size=256k tmpfs "

PROGRAM = """
import os, pathlib, sys
import numpy as np
from rlcomponents import pulse, schedules
from rlcomponents.nodes import best_parameters, coordinator
from rlcomponents.parameters import layout, local_store, update_rules
from rlcomponents.runs import checkpoints, disk, metrics, node_state, run_folder
from rlcomponents.runs import worker_report

said = []
pulse.use_in_this_process(pulse.Pulse(say=said.append))
folder = run_folder.RunFolder.create(pathlib.Path(sys.argv[1]) / "run")
store = local_store.LocalStore(
    layout.ParameterLayout(["w"], [[2_000]]),
    update_rules.SGD(),
    schedules.Constant(0.1),
    max_staleness_updates=None,
    target_period_updates=None,
)
store.initialise(np.zeros(2_000, np.float32))
node = coordinator.Coordinator(
    store.statistics,
    [store],
    folder,
    agent="a",
    environment="e",
    max_steps=1_000,
    frames_per_step=1,
    replay_capacity_items=0,
    checkpoint_period_secs=0.0,
    stop_program=lambda: None,
    wait_for_stop=lambda secs: False,
)
quiet = disk.Disk(lambda line: None)
report = worker_report.WorkerReport(
    metrics.MetricsWriter(
        folder.metrics / "worker-0.csv", metrics.WORKER_COLUMNS, disk=quiet
    )
)
state = node_state.NodeState(
    folder.state / "worker-0.json", period_secs=0.0, disk=quiet
)
state.keep("counts", report)
best = best_parameters.BestParameters(folder, facts={}, disk=quiet)


def learn():
    snapshot = store.pull()
    gradient = np.random.default_rng(0).normal(size=2_000).astype(np.float32)
    store.push(gradient, snapshot.versions, 10)
    report.add_steps(10)
    report.write()
    state.save_if_due(10)
    best.offer(snapshot, float(snapshot.steps))
    assert not node.step()


def steps_in(name):
    rows = metrics.MetricsFile(folder.metrics / name).read_new()
    return [int(row["agent_steps"]) for row in rows]


for _ in range(3):
    learn()
before = checkpoints.latest(folder.checkpoints)
filler = pathlib.Path(sys.argv[1], "filler").open("wb", buffering=0)
try:
    for size in (4096, 1):
        while True:
            filler.write(b"x" * size)
except OSError:
    pass
for _ in range(30):
    learn()
assert len(said) == 1 and "No space left on device" in said[0], said
assert checkpoints.latest(folder.checkpoints) == before
checkpoints.load(before)
assert checkpoints.load(checkpoints.latest(folder.best_checkpoint))
os.unlink(filler.name)
filler.close()
for _ in range(3):
    learn()
assert len(said) == 2 and "can be written again" in said[1], said
_, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
assert facts["agent_steps"] == 360, facts
assert node_state.read(state._path)["parts"]["counts"]["agent_steps"] == 360
for name in ("program.csv", "worker-0.csv"):
    steps = steps_in(name)
    assert steps[:3] == [10, 20, 30] and steps[-3:] == [340, 350, 360], steps
    assert steps == sorted(set(steps))
print("went on")
"""


def can_mount():
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-Urm", "sh", "-c", f"{_MOUNT} /tmp"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.integration
def test_a_full_disk_costs_what_would_have_been_written_and_one_line(tmp_path):
    if not can_mount():
        pytest.skip("Needs user namespaces in which a small disk can be mounted.")
    command = f'{_MOUNT} {tmp_path} && exec "$0" -c "$1" {tmp_path}'
    ended = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", command, sys.executable, PROGRAM],
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout) == (0, "went on\n"), ended.stderr
