"""Runs of each agent that are interrupted and go on, as a user does it."""

import itertools

import numpy as np
import pytest

from rlcomponents.runs import checkpoints, metrics, node_state, run_folder, summary

CATCH = (
    "--environment=catch",
    "--run_dir=run",
    "--max_steps=1000000",
    "--checkpoint_period_secs=1",
)
DQN = ("--min_replay_items=50", "--batch_size=8")
SERVER = ("--parameter_store=server",)

AGENTS = {
    "dqn": ("dqn", DQN, ()),
    "gorila, more bundles and shards": (
        "gorila_dqn",
        (*DQN, "--num_bundles=1", "--num_parameter_shards=1"),
        ("--num_bundles=2", "--num_parameter_shards=3"),
    ),
    "gorila, other actors": (
        "gorila_dqn",
        (*DQN, "--mode=central", "--num_actors=2", "--num_parameter_shards=2"),
        ("--num_actors=1", "--num_parameter_shards=1"),
    ),
    "a3c": ("a3c", (), ()),
    "a3c, from memory to servers": (
        "a3c",
        ("--num_workers=2",),
        (*SERVER, "--num_workers=1", "--num_parameter_shards=2"),
    ),
    "async_q, from servers to memory": (
        "async_q",
        (*SERVER, "--num_workers=1"),
        ("--parameter_store=shared_memory", "--num_workers=2"),
    ),
}


def saved_steps(folder):
    path = checkpoints.latest(folder.checkpoints)
    return checkpoints.load(path)[1]["agent_steps"] if path else 0


def steps_in(path):
    return [row["agent_steps"] for row in metrics.MetricsFile(path).read_new()]


@pytest.mark.integration
@pytest.mark.timeout(240)
@pytest.mark.parametrize("which", AGENTS)
def test_an_interrupted_run_goes_on_with_more_steps(start, tmp_path, which):
    agent, flags, changes = AGENTS[which]
    folder = run_folder.RunFolder(tmp_path / "run")
    first = start(agent, tmp_path, *CATCH, *flags)
    first.wait_until(lambda: saved_steps(folder) > 0)
    first.interrupt()
    assert first.wait()[0] == 130
    before = saved_steps(folder)
    rows = steps_in(folder.program_csv)
    wall_secs = metrics.read_last(folder.program_csv)["wall_secs"]

    second = start(agent, tmp_path, "--resume=run", *changes)
    second.wait_until(lambda: saved_steps(folder) > before)
    second.interrupt()
    exit_code, output, _ = second.wait()
    assert exit_code == 130
    assert f"{before:,} agent steps" in output.splitlines()[0]
    assert saved_steps(folder) > before
    result = summary.read(folder.summary_json)
    assert result.agent_steps >= before
    assert result.wall_secs > wall_secs

    # The same file, in which nothing comes twice.
    after = steps_in(folder.program_csv)
    assert after[: len(rows)] == [steps for steps in rows if steps <= before]
    assert after[len(rows)] > before
    assert all(a <= b for a, b in itertools.pairwise(after))
    for path in folder.metrics.glob("*.csv"):
        assert all(a <= b for a, b in itertools.pairwise(steps_in(path)))
    lives = [node_state.read(path)["life"] for path in folder.state.glob("*-0.json")]
    assert set(lives) == {1}


@pytest.mark.integration
@pytest.mark.learning
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("agent", "flags", "half"),
    [
        ("a3c", (), 20_000),
        ("gorila_dqn", (), 3_000),
        ("gorila_dqn", ("--mode=central",), 3_000),
    ],
    ids=["a3c", "gorila bundled", "gorila central"],
)
def test_a_run_that_was_resumed_learns_catch(start, tmp_path, agent, flags, half):
    folder = run_folder.RunFolder(tmp_path / "run")
    settings = ("--environment=catch", "--run_dir=run", "--checkpoint_period_secs=2")
    first = start(agent, tmp_path, *settings, *flags)
    first.wait_until(lambda: saved_steps(folder) >= half, timeout_secs=400)
    first.interrupt()
    assert first.wait()[0] == 130
    assert start(agent, tmp_path, "--resume=run").wait()[0] == 0
    result = summary.read(folder.summary_json)
    assert result.reason == "max_steps"
    assert result.evaluation_return >= 0.8


@pytest.mark.integration
@pytest.mark.timeout(240)
def test_a_run_that_was_resumed_ends_as_any_other(start, tmp_path):
    folder = run_folder.RunFolder(tmp_path / "run")
    first = start("a3c", tmp_path, *CATCH)
    first.wait_until(lambda: saved_steps(folder) > 0)
    first.interrupt()
    first.wait()
    budget = saved_steps(folder) + 500
    flags = (f"--max_steps={budget}", "--final_evaluation_episodes=2")
    assert start("a3c", tmp_path, "--resume=run", *flags).wait()[0] == 0
    result = summary.read(folder.summary_json)
    assert (result.reason, result.evaluation_episodes) == ("max_steps", 2)
    assert result.agent_steps >= budget
    assert metrics.read_last(folder.evaluation_csv)["final"] == 1
    parts, _ = checkpoints.load(checkpoints.latest(folder.best_checkpoint))
    assert np.isfinite(parts["parameters_0"]["parameters"]).all()
    # With all its steps taken there is nothing to resume.
    exit_code, _, errors = start("a3c", tmp_path, "--resume=run").wait()
    assert exit_code == 2
    assert "give a larger --max_steps" in errors


@pytest.mark.integration
@pytest.mark.timeout(240)
@pytest.mark.parametrize("which", ["a3c", "dqn", "gorila, more bundles and shards"])
def test_a_run_that_is_interrupted_in_its_last_evaluation_goes_on_with_that(
    start, tmp_path, which
):
    agent, flags, _ = AGENTS[which]
    folder = run_folder.RunFolder(tmp_path / "run")
    settings = ("--environment=catch", "--run_dir=run", "--max_steps=1000", *flags)
    first = start(agent, tmp_path, *settings, "--final_evaluation_episodes=1000000")

    def all_steps_are_taken():
        # DQN is one thread, which saves itself before the last evaluation.
        row = metrics.read_last(folder.program_csv)
        saved = node_state.read(folder.state / "dqn-0.json")
        return row.get("waiting") == "last evaluation" or (saved and saved["ended"])

    first.wait_until(all_steps_are_taken)
    first.interrupt()
    assert first.wait()[0] == 130
    last_words = ("--resume=run", "--final_evaluation_episodes=2")
    exit_code, _, errors = start(agent, tmp_path, *last_words).wait()
    assert exit_code == 0, errors
    result = summary.read(folder.summary_json)
    assert (result.reason, result.evaluation_episodes) == ("max_steps", 2)
    assert metrics.read_last(folder.evaluation_csv)["final"] == 1


@pytest.mark.integration
@pytest.mark.timeout(240)
@pytest.mark.parametrize("which", ["a3c", "dqn", "gorila, more bundles and shards"])
def test_a_run_that_was_ended_right_after_its_last_evaluation_is_complete_when_resumed(
    start, tmp_path, which
):
    agent, flags, _ = AGENTS[which]
    folder = run_folder.RunFolder(tmp_path / "run")
    settings = ("--environment=catch", "--run_dir=run", "--max_steps=500", *flags)
    last_words = "--final_evaluation_episodes=3"
    assert start(agent, tmp_path, *settings, last_words).wait()[0] == 0
    complete = summary.read(folder.summary_json)
    # As a kill leaves it: nothing of the last second is in the summary.
    summary.write(
        folder.summary_json,
        summary.Summary(reason="running", environment="catch", agent=agent),
    )
    exit_code, output, errors = start(agent, tmp_path, "--resume=run").wait()
    assert exit_code == 0, errors
    assert "Ended (max_steps)" in output
    result = summary.read(folder.summary_json)
    assert (result.reason, result.evaluation_episodes) == ("max_steps", 3)
    assert result.agent_steps == complete.agent_steps
    assert result.evaluation_return == complete.evaluation_return


@pytest.mark.integration
@pytest.mark.timeout(240)
def test_a_run_that_is_going_on_is_not_resumed_beside_itself(start, tmp_path):
    folder = run_folder.RunFolder(tmp_path / "run")
    first = start("a3c", tmp_path, *CATCH)
    first.wait_until(lambda: saved_steps(folder) > 0)
    exit_code, _, errors = start("a3c", tmp_path, "--resume=run").wait()
    assert exit_code == 2
    assert f"still going on (process {first.process.pid})" in errors
    before = saved_steps(folder)
    first.wait_until(lambda: saved_steps(folder) > before)
    # Killed, it leaves the folder to others.
    first.process.kill()
    first.wait()
    before = saved_steps(folder)
    second = start("a3c", tmp_path, "--resume=run")
    second.wait_until(lambda: saved_steps(folder) > before)
    second.interrupt()
    assert second.wait()[0] == 130
