import pytest

from launch import dqn
from rlcomponents.runs import run_folder, summary


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
