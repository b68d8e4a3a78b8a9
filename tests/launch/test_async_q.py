import csv

import numpy as np
import pytest

from agents.async_q import config as async_q_config
from launch import async_q
from rlcomponents.runs import checkpoints, run_folder, summary

ALGORITHMS = async_q_config.ALGORITHMS
STORES = {
    "shared_memory": (),
    "server": ("--parameter_store=server", "--num_parameter_shards=2"),
    "local": ("--parameter_store=local", "--lp_launch_type=local_mt"),
}


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--algorithm=sarsa"], "algorithm is 'sarsa': it must be one of one_step_q, "),
        (["--parameter_store=local"], "parameter_store is 'local', which threads of o"),
        (["--target_period_steps=0"], "target_period_steps is 0: it must be at least"),
        (["--recurrent"], "There is no flag --recurrent"),
        (["--parameter_timeout_secs=3"], "or choose parameter_store=server."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(empty_folder, refusal, argv, sentence):
    assert sentence in refusal(async_q.main, "--environment=catch", *argv)
    assert list(empty_folder.iterdir()) == []


def test_continuous_actions_are_refused_before_anything_starts(
    users_game, empty_folder, refusal
):
    before = set(empty_folder.iterdir())
    sentence = refusal(async_q.main, "--environment=module:guessing:Continuous")
    assert "a Q-network values each of a finite number of actions" in sentence
    assert set(empty_folder.iterdir()) - before <= {empty_folder / "__pycache__"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("algorithm", "flags"),
    [
        ("one_step_q", ()),
        ("one_step_sarsa", ("--lp_launch_type=local_mt",)),
        ("n_step_q", STORES["server"]),
        ("n_step_q", STORES["local"]),
    ],
    ids=["processes", "threads", "processes-server", "threads-local"],
)
def test_a_run_ends_by_itself_and_is_evaluated(start, tmp_path, algorithm, flags):
    argv = ("--environment=catch", "--max_steps=600", "--run_dir=run", *flags)
    script = start("async_q", tmp_path, *argv, f"--algorithm={algorithm}")
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    assert output.startswith("async_q: ")
    folder = run_folder.RunFolder(tmp_path / "run")
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent) == ("max_steps", "async_q")
    assert 600 <= result.agent_steps <= 600 + 4 * 5
    assert result.updates > 100
    assert result.evaluation_episodes == 30
    states, _ = checkpoints.load(checkpoints.latest(folder.checkpoints))
    for state in states.values():
        assert np.isfinite(state["parameters"]).all()
        # Copied at 500 steps; learning has gone on since.
        assert np.any(state["target_parameters"] != state["parameters"])

    script = start("evaluate", tmp_path, "--run_dir=run", "--episodes=3")
    exit_code, output, errors = script.wait()
    assert (exit_code, errors) == (0, "")
    assert "3 episodes cut after 1,000 frames, epsilon 0.0:" in output


@pytest.mark.learning
@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", STORES.values(), ids=STORES.keys())
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_catch_is_learned_by_the_preset(start, tmp_path, algorithm, store):
    argv = ("--environment=catch", "--run_dir=run", f"--algorithm={algorithm}")
    exit_code, _, errors = start("async_q", tmp_path, *argv, *store).wait()
    assert (exit_code, errors) == (0, "")
    folder = run_folder.RunFolder(tmp_path / "run")
    with folder.evaluation_csv.open() as file:
        secs = [
            float(row["wall_secs"])
            for row in csv.DictReader(file)
            if float(row["mean_return"]) >= 0.9
        ]
    if not store:  # Threads of one process are slower.
        assert secs[0] <= 90.0  # Since the first step.
    assert summary.read(folder.summary_json).evaluation_return >= 0.9
