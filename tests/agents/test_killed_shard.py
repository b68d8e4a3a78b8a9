"""A parameter shard that is killed in the middle of a run comes back."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from rlcomponents import array_files

SCRIPT = pathlib.Path(__file__).with_name("killed_shard_program.py")


def load_program():
    spec = importlib.util.spec_from_file_location("killed_shard_program", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def replay(gradients):
    """Momentum SGD in NumPy, from zero parameters."""
    parameters, momentum = np.zeros((2, 10), np.float32)
    for gradient in gradients:
        momentum = np.float32(0.5) * (momentum + gradient)
        parameters = parameters - np.float32(0.01) * momentum
    return parameters


@pytest.mark.integration
def test_a_killed_shard_goes_on_from_its_snapshot_and_nobody_else_dies(tmp_path):
    run_dir = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(run_dir)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == ["parameters/1"]
    results = json.loads((run_dir / "pushes.json").read_text())
    program = load_program()
    first, second = zip(*results["pushes"], strict=True)

    # The other shard has applied everything.
    assert set(first) == {"applied"}
    gradients = [program.make_gradient(number) for number in range(len(first))]
    np.testing.assert_allclose(
        results["parameters"][:10], replay([g[:10] for g in gradients]), rtol=1e-4
    )

    # One gradient came from before the restart: discarded. All later ones count.
    [discarded] = [i for i, verdict in enumerate(second) if verdict == "other_epoch"]
    assert set(second[discarded + 1 :]) == {"applied"}
    assert len(second[discarded + 1 :]) == program.NUM_UPDATES_AFTER

    # Before it, at most one was lost on the way, and the shard forgot no more than the
    # period says.
    before = second[:discarded]
    assert before.count("lost") <= 1
    assert set(before) <= {"applied", "lost"}
    kept = results["restored_updates"]
    assert 0 <= len(before) - kept <= program.Config.snapshot_period_updates
    assert results["restored_epoch"] > 0
    assert results["versions"][1] == [
        results["restored_epoch"],
        kept + program.NUM_UPDATES_AFTER,
    ]

    # Its parameters are what the rest comes to.
    rest = gradients[:kept] + gradients[discarded + 1 :]
    np.testing.assert_allclose(
        results["parameters"][10:], replay([g[10:] for g in rest]), rtol=1e-4
    )

    # The end of the program is in the last snapshots.
    for index in range(2):
        state = array_files.read(run_dir / "state" / f"parameters-{index}.npz")
        part = slice(10 * index, 10 * index + 10)
        np.testing.assert_array_equal(
            state["parameters"], np.float32(results["parameters"][part])
        )
