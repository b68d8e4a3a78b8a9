import csv

import launchpad as lp
import pytest

from agents.dqn import config as dqn_config
from agents.dqn import program
from rlcomponents.runs import checkpoints, node_state, run_folder, summary
from rlcomponents.testing import harness

pytestmark = pytest.mark.usefixtures("patient_learners")


def make_config(**settings):
    return dqn_config.DQNConfig(
        **{
            "environment": "catch",
            "max_steps": 100,
            "batch_size": 4,
            "steps_per_update": 1,
            "min_replay_items": 8,
            "max_replay_items": 100,
            "evaluation_period_steps": 1_000,
            "final_evaluation_episodes": 3,
            **settings,
        }
    )


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


@pytest.fixture
def make_agent(folder):
    """Builds the agent as its own program would."""
    made = []

    def make(config):
        program_harness = harness.ProgramHarness(
            program.build_program(config, str(folder.path))
        )
        made.append(program_harness)
        return program_harness.build("dqn/0"), program_harness

    yield make
    for program_harness in made:
        program_harness.close()


def test_the_agent_takes_one_step_at_a_time(make_agent, folder):
    agent, program_harness = make_agent(make_config())
    assert not agent.step()
    assert not agent.step()
    assert not program_harness.stopped
    agent.close()
    assert summary.read(folder.summary_json).reason == "running"


def test_a_run_takes_all_steps_evaluates_saves_and_ends_the_program(make_agent, folder):
    agent, program_harness = make_agent(make_config())
    agent.run()
    assert program_harness.stopped
    result = summary.read(folder.summary_json)
    assert result.reason == "max_steps"
    assert result.agent == "dqn"
    assert result.agent_steps == result.environment_frames == 100
    assert result.updates == 100 - 8  # One a step from step 9 on.
    assert result.discarded_stale == 0
    assert result.mean_staleness_updates == 0.0
    assert result.evaluation_episodes == 3
    with folder.evaluation_csv.open() as file:
        [row] = csv.DictReader(file)
    assert (row["agent_steps"], row["final"]) == ("100", "1")
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert (facts["agent_steps"], facts["updates"]) == (100, 92)


def test_a_run_that_is_told_to_stop_saves_what_it_has(make_agent, folder):
    agent, _ = make_agent(make_config(max_steps=100_000))
    for _ in range(50):
        agent.step()
    lp.stop()
    agent.run()
    result = summary.read(folder.summary_json)
    assert result.reason == "stopped"
    assert result.agent_steps >= 41  # Those that came with an update, at least.
    assert checkpoints.latest(folder.checkpoints) is not None


def test_a_stop_in_an_evaluation_is_saved_with_what_the_node_wrote_at_its_end(
    make_agent, folder
):
    agent, _ = make_agent(make_config(max_steps=100_000, checkpoint_period_secs=0.001))
    for _ in range(50):
        agent.step()
    agent._period_secs = agent._next_round_secs = 0.0

    def break_off():
        lp.stop()  # Then the coordinator saves once more before the node is told.
        return False

    agent._evaluator.step = break_off
    agent.run()
    path = checkpoints.latest(folder.checkpoints)
    document = checkpoints.load_documents(path)["dqn-0.json"]
    assert document == (folder.state / "dqn-0.json").read_bytes()
    assert node_state.parse(document)["ended"]


def test_evaluations_come_in_between(make_agent, folder):
    agent, _ = make_agent(
        make_config(evaluation_period_steps=40, evaluation_episodes=2)
    )
    agent._period_secs = 0.0  # A round after every step.
    while not agent.step():
        pass
    agent.close()
    with folder.evaluation_csv.open() as file:
        rows = [(row["agent_steps"], row["episodes"]) for row in csv.DictReader(file)]
    assert rows == [("40", "2"), ("80", "2"), ("100", "3")]


def test_it_stands_still_as_long_as_the_last_evaluation_cannot_be_written(
    make_agent, folder
):
    agent, _ = make_agent(make_config())
    with pytest.MonkeyPatch.context() as full_disk:
        full_disk.setattr(agent._evaluator._reporter, "write", lambda row: False)
        for _ in range(103):
            assert not agent.step()
    assert agent.step()
    agent.close()
    assert summary.read(folder.summary_json).agent_steps == 100
