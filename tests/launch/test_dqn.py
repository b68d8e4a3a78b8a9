import numpy as np
import pytest

from launch import dqn
from rlcomponents.runs import checkpoints, run_folder, summary


def test_flags_of_gorila_are_unknown_here(refusal, empty_folder):
    sentence = refusal(dqn.main, "--environment=catch", "--mode=central")
    assert sentence == "There is no flag --mode: --help lists the flags."
    assert list(empty_folder.iterdir()) == []


@pytest.mark.integration
def test_dqn_trains_in_one_process(start, tmp_path):
    script = start(
        "dqn",
        tmp_path,
        "--environment=catch",
        "--max_steps=400",
        "--batch_size=8",
        "--run_dir=run",
    )
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    assert output.startswith("dqn: 1 node\n")
    folder = run_folder.RunFolder(tmp_path / "run")
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent, result.agent_steps) == (
        "max_steps",
        "dqn",
        400,
    )
    # One a step, once a tenth is in replay and read.
    assert 200 < result.updates <= 400 - 40
    assert result.evaluation_episodes == 30


def _final_parameters(path):
    folder = run_folder.RunFolder(path)
    parts, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    arrays = parts["parameters_0"]
    # How often the store was started is not of the run.
    arrays = {name: x for name, x in arrays.items() if not name.endswith("epoch")}
    return facts["agent_steps"], arrays


@pytest.mark.integration
@pytest.mark.timeout(400)
def test_a_run_that_is_stopped_and_resumed_ends_as_one_that_is_not_to_the_bit(
    start, tmp_path, has_updates
):
    flags = (
        "--environment=minatar:breakout",
        "--network=mlp",
        "--max_steps=1500",
        "--batch_size=8",
        "--n_step=3",
        "--evaluation_episodes=1",
        "--final_evaluation_episodes=2",
    )
    unbroken = start("dqn", tmp_path, *flags, "--run_dir=unbroken")
    assert unbroken.wait()[0] == 0
    stopped = start("dqn", tmp_path, *flags, "--run_dir=stopped")
    stopped.wait_until(has_updates(run_folder.RunFolder(tmp_path / "stopped")))
    stopped.interrupt()
    assert stopped.wait()[0] == 130
    steps, _ = _final_parameters(tmp_path / "stopped")
    assert 150 < steps < 1_500
    assert start("dqn", tmp_path, "--resume=stopped").wait()[0] == 0
    one, other = (
        _final_parameters(tmp_path / name) for name in ("unbroken", "stopped")
    )
    assert one[0] == other[0] == 1_500
    assert one[1].keys() == other[1].keys()
    for name in one[1]:
        np.testing.assert_array_equal(one[1][name], other[1][name], err_msg=name)
