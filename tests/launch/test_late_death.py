"""A parameter shard that dies when all steps are taken, but not evaluated yet."""

import pytest

from rlcomponents.runs import metrics, run_folder, summary
from rlcomponents.testing import faults

MAX_STEPS = 700
FLAGS = (
    "--environment=catch",
    "--run_dir=run",
    f"--max_steps={MAX_STEPS}",
    "--min_replay_items=50",
    "--batch_size=8",
    "--num_bundles=1",
    "--num_parameter_shards=1",
    # An evaluation that is still going on when the steps are taken.
    "--evaluation_period_steps=300",
    "--evaluation_episodes=4000",
    "--final_evaluation_episodes=5",
    "--snapshot_period_updates=100000",  # So that the shard forgets its steps.
)


@pytest.mark.integration
@pytest.mark.timeout(240)
def test_steps_that_a_shard_forgot_are_taken_again_and_the_run_ends(start, tmp_path):
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start("gorila_dqn", tmp_path, *FLAGS)

    def is_spent():
        row = metrics.read_last(folder.program_csv)
        return metrics.number(row, "agent_steps") >= MAX_STEPS

    script.wait_until(is_spent, 120.0)
    assert not metrics.read_last(folder.evaluation_csv)
    faults.Faults(folder.path).kill("parameters/0")

    assert script.wait()[0] == 0
    result = summary.read(folder.summary_json)
    assert (result.reason, result.evaluation_episodes) == ("max_steps", 5)
    assert [each["node"] for each in result.restarts] == ["parameters/0"]
