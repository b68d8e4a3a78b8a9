"""Workers and evaluators of the real programs, built alone and stepped by hand."""

import csv

import launchpad as lp
import numpy as np
import pytest

from agents.a3c import config as a3c_config
from agents.a3c import program as a3c_program
from agents.a3c import strategy as a3c_strategy
from agents.async_q import config as async_q_config
from agents.async_q import program as async_q_program
from rlcomponents import array_files, seeding
from rlcomponents.environments import registry
from rlcomponents.runs import checkpoints, run_folder, summary
from rlcomponents.testing import harness

ALGORITHMS = {
    "a3c": (a3c_config.A3CConfig, a3c_program, {}),
    "a3c_lstm": (a3c_config.A3CConfig, a3c_program, {"recurrent": True}),
    **{
        name: (async_q_config.AsyncQConfig, async_q_program, {"algorithm": name})
        for name in async_q_config.ALGORITHMS
    },
}


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


@pytest.fixture
def program_of(folder):
    """Makes a harness around a program. In the end its nodes stop and close."""
    made = []

    def make(algorithm, **settings):
        config_class, program, own = ALGORITHMS[algorithm]
        config = config_class(
            **{
                "environment": "catch",
                "max_steps": 40,
                "evaluation_period_steps": 1_000,
                "final_evaluation_episodes": 2,
                **own,
                **settings,
            }
        )
        made.append(
            harness.ProgramHarness(program.build_program(config, str(folder.path)))
        )
        return made[-1]

    yield make
    for program_harness in made:
        lp.stop()
        for name, node in program_harness._instances.items():
            if not name.startswith("parameters"):
                node.run()  # Sees the stop at once.
        program_harness.close()


def saved(program_harness):
    coordinator = program_harness.build("coordinator/0")
    shards = coordinator._checkpoints._shards
    return np.concatenate([shard.save()["parameters"] for shard in shards])


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        *((algorithm, "shared_memory") for algorithm in ALGORITHMS),
        ("a3c", "local"),
        ("a3c", "server"),
        ("one_step_q", "local"),
        ("one_step_sarsa", "server"),
        ("n_step_q", "server"),
    ],
)
def test_a_worker_acts_and_changes_the_parameters(program_of, folder, algorithm, kind):
    program_harness = program_of(algorithm, parameter_store=kind)
    worker = program_harness.build("worker/1")
    coordinator = program_harness.build("coordinator/0")
    before = saved(program_harness)
    assert [worker.step(), worker.step()] == [5, 9]  # A game has 9 steps.
    assert worker.step() == 14
    statistics = coordinator._statistics()
    assert (statistics.steps, statistics.updates) == (14, 3)
    after = saved(program_harness)
    assert np.isfinite(after).all()
    assert np.any(after != before)
    with (folder.metrics / "worker-1.csv").open() as file:
        assert next(csv.DictReader(file))["agent_steps"] == "5"


def test_a_worker_steps_several_environments_at_once(program_of):
    program_harness = program_of("a3c", envs_per_worker=3)
    assert program_harness.build("worker/0").step() == 15


@pytest.fixture
def noted_rollouts(monkeypatch):
    """The rollouts from which A3C's workers compute gradients."""
    noted = []
    gradient = a3c_strategy.A3CStrategy.gradient

    def note(self, rollout):
        noted.append(rollout)
        return gradient(self, rollout)

    monkeypatch.setattr(a3c_strategy.A3CStrategy, "gradient", note)
    return noted


def test_episodes_are_cut_for_learning_one_environment_after_another(
    program_of, noted_rollouts
):
    program_harness = program_of(
        "a3c", envs_per_worker=2, max_training_episode_steps=4, t_max_steps=10
    )
    program_harness.build("worker/0").step()
    [rollout] = noted_rollouts
    assert np.flatnonzero(rollout.last[:, 0]).tolist() == [1, 5, 9]
    assert np.flatnonzero(rollout.last[:, 1]).tolist() == [3, 7]
    assert (rollout.discount == np.float32(0.99)).all()  # Cut, and not terminal.


def test_learning_sees_rewards_scaled(program_of, noted_rollouts):
    program_harness = program_of("a3c", reward_scale=0.25, t_max_steps=9)
    program_harness.build("worker/0").step()
    [rollout] = noted_rollouts
    assert np.abs(rollout.reward[:, 0]).tolist() == [0.0] * 8 + [0.25]


def test_evaluation_plays_whole_episodes_with_rewards_as_they_are(program_of, folder):
    program_harness = program_of(
        "a3c",
        max_training_episode_steps=1,
        reward_scale=0.25,
        final_evaluation_episodes=1,
    )
    worker = program_harness.build("worker/0")
    while worker.step() < 40:
        pass
    assert program_harness.build("evaluator/0").step()
    with folder.evaluation_csv.open() as file:
        [row] = csv.DictReader(file)
    assert abs(float(row["mean_return"])) == 1.0  # Of the ninth and last step.


@pytest.mark.parametrize("first", ["worker/0", "worker/1"])
def test_environments_have_seeds_of_their_own_in_any_order(
    program_of, monkeypatch, first
):
    seeds = {}
    make_factory = registry.make_factory
    building = ""

    def make_noting_factory(*args, **settings):
        factory = make_factory(*args, **settings)

        def make(seed):
            seeds.setdefault(building, []).append(seed)
            return factory(seed)

        return make

    program_harness = program_of("n_step_q", envs_per_worker=2, seed=7)
    monkeypatch.setattr(registry, "make_factory", make_noting_factory)
    for building in sorted(["worker/0", "worker/1"], key=lambda name: name != first):
        program_harness.build(building)
    assert seeds == {
        "worker/0": [seeding.derive(7, "environment", index) for index in (0, 1)],
        "worker/1": [seeding.derive(7, "environment", index) for index in (2, 3)],
    }
    assert len(set(seeds["worker/0"] + seeds["worker/1"])) == 4


@pytest.mark.parametrize("kind", ["shared_memory", "local", "server"])
def test_a_worker_goes_on_with_its_own_statistics(program_of, folder, kind):
    program_harness = program_of(
        "a3c", optimiser_statistics="private", parameter_store=kind
    )
    saved = []
    for num_steps in (3, 0):
        worker = program_harness.build("worker/0")
        for _ in range(num_steps):
            worker.step()
        worker._state.save()
        saved.append(array_files.read(folder.state / "worker-0.npz"))
        program_harness._instances.pop("worker/0")  # It dies.
    saved = [state["slots/mean_square"] for state in saved]
    assert saved[0].any()
    np.testing.assert_array_equal(*saved)


def test_workers_with_shared_statistics_save_none(program_of, folder):
    worker = program_of("a3c").build("worker/0")
    worker._state.save()
    assert [path.name for path in folder.state.iterdir()] == ["worker-0.json"]


def test_a_worker_ends_its_steps_with_the_budget(program_of):
    program_harness = program_of("a3c")
    worker = program_harness.build("worker/0")
    steps = 0
    while steps < 40:
        steps = worker.step()
    assert steps == 41  # Games of 5 and 4 steps: 9, 18, 27, 36, 41.


def test_whole_episodes_are_one_update_each(program_of):
    program_harness = program_of("a3c", whole_episodes=True)
    worker = program_harness.build("worker/0")
    assert [worker.step(), worker.step()] == [9, 18]


@pytest.mark.parametrize("algorithm", ["a3c", "n_step_q"])
def test_the_evaluator_plays_what_the_workers_have_learned(
    program_of, folder, algorithm
):
    program_harness = program_of(algorithm)
    evaluator = program_harness.build("evaluator/0")
    assert not evaluator.step()  # Nobody has taken a step.
    worker = program_harness.build("worker/0")
    while worker.step() < 40:
        pass
    assert evaluator.step()
    assert evaluator.finished
    with folder.evaluation_csv.open() as file:
        [row] = csv.DictReader(file)
    assert (row["final"], row["episodes"]) == ("1", "2")
    assert int(row["agent_steps"]) >= 40


@pytest.mark.parametrize("kind", ["shared_memory", "local", "server"])
def test_the_coordinator_alone_waits_for_workers(program_of, folder, kind):
    program_harness = program_of(
        "n_step_q", parameter_store=kind, checkpoint_period_secs=1e-6
    )
    coordinator = program_harness.build("coordinator/0")
    assert not coordinator.step()
    coordinator.stop()
    assert checkpoints.latest(folder.checkpoints) is None  # There is nothing to save.
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent_steps, result.updates) == ("stopped", 0, 0)


@pytest.mark.parametrize("kind", ["shared_memory", "local", "server"])
def test_the_coordinator_saves_at_the_end(program_of, folder, kind):
    program_harness = program_of("a3c", parameter_store=kind)
    worker = program_harness.build("worker/0")
    while worker.step() < 40:
        pass
    program_harness.build("evaluator/0").step()
    assert program_harness.build("coordinator/0").step()  # At the end.
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent) == ("max_steps", "a3c")
    assert result.agent_steps == 41
    _, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    assert (facts["agent_steps"], facts["updates"]) == (41, 9)
