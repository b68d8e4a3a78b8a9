"""Every node of the real program, built alone and stepped by hand."""

import csv

import launchpad as lp
import numpy as np
import pytest

from agents.gorila_dqn import config as gorila_config
from agents.gorila_dqn import nodes, program
from rlcomponents.environments import catch
from rlcomponents.parameters import saved_states, wire
from rlcomponents.runs import run_folder, summary
from rlcomponents.testing import harness


def make_config(**settings):
    return gorila_config.GorilaConfig(
        **{
            "environment": "catch",
            "max_steps": 300,
            "batch_size": 4,
            "steps_per_update": 1,
            "min_replay_items": 8,
            "max_replay_items": 100,
            "num_parameter_shards": 3,
            "actor_sync_period_steps": 10,
            "evaluation_period_steps": 1_000,
            "final_evaluation_episodes": 2,
            **settings,
        }
    )


@pytest.fixture
def folder(tmp_path):
    return run_folder.RunFolder.create(tmp_path / "run")


@pytest.fixture
def program_of(folder):
    """Makes a harness around a program. In the end its workers stop and close."""
    made = []

    def make(**settings):
        built = program.build_program(make_config(**settings), str(folder.path))
        made.append(harness.ProgramHarness(built))
        return made[-1]

    yield make
    for program_harness in made:
        lp.stop()
        for name, worker in program_harness._instances.items():
            if not name.startswith("parameters"):
                worker.run()  # Sees the stop at once.
        program_harness.close()


class Game(catch.Catch):
    """Catch that notes what is done with it."""

    def __init__(self, seed):
        super().__init__(catch.CatchSettings(), seed)
        self.seed = seed
        self.actions = []
        self.closed = False

    def step(self, action):
        self.actions.append(int(action))
        return super().step(action)

    def close(self):
        self.closed = True


@pytest.fixture
def games(monkeypatch):
    """All games that nodes make."""
    made = []

    def make(seed):
        made.append(Game(seed))
        return made[-1]

    monkeypatch.setattr(
        gorila_config.GorilaConfig,
        "make_environment_factory",
        lambda config, *, evaluation=False: make,
    )
    return made


def statistics(program_harness, index=0):
    parameter_shard = program_harness.build(f"parameters/{index}")
    return saved_states.ShardStatistics(*wire.read_reply(parameter_shard.statistics()))


def last_row(path):
    with path.open() as file:
        return list(csv.DictReader(file))[-1]


# ------------------------------------------------------------------------ bundled mode


@pytest.mark.usefixtures("patient_learners")
def test_a_bundle_acts_and_learns_alone(program_of, folder):
    program_harness = program_of(mode="bundled", num_bundles=2)
    bundle = program_harness.build("bundle/1")
    for _ in range(8):
        assert bundle.step() == 0  # Nobody has been told of these steps yet.
    assert statistics(program_harness).updates == 0
    assert bundle.step() == 9
    for _ in range(11):
        bundle.step()
    for index in range(3):
        counts = statistics(program_harness, index)
        assert (counts.steps, counts.updates) == (20, 12)
    row = last_row(folder.metrics / "bundle-1.csv")
    assert float(row["epsilon"]) > 0.9


@pytest.mark.usefixtures("patient_learners")
def test_bundles_may_explore_differently(program_of, folder):
    program_harness = program_of(
        mode="bundled", num_bundles=2, exploration="spread", initial_epsilon=0.5
    )
    for index in range(2):
        program_harness.build(f"bundle/{index}").step()
    epsilons = [
        float(last_row(folder.metrics / f"bundle-{index}.csv")["epsilon"])
        for index in range(2)
    ]
    assert epsilons == [0.5, 0.5**8]


@pytest.mark.usefixtures("patient_learners")
def test_bundles_share_the_parameters_and_age_each_others_gradients(program_of):
    program_harness = program_of(mode="bundled", num_bundles=2)
    first, second = (program_harness.build(f"bundle/{index}") for index in range(2))
    for _ in range(20):
        first.step()
        second.step()
    counts = statistics(program_harness)
    assert (counts.steps, counts.updates) == (40, 24)
    # Each gradient is of parameters pulled just before.
    assert counts.staleness_sum_updates == 0


@pytest.mark.usefixtures("patient_learners")
def test_a_bundle_ends_when_all_bundles_together_have_taken_the_steps(program_of):
    program_harness = program_of(mode="bundled", num_bundles=2, max_steps=30)
    first, second = (program_harness.build(f"bundle/{index}") for index in range(2))
    while first.step() < 30:
        assert second.step() <= 31
    assert statistics(program_harness).steps >= 30


# ------------------------------------------------------------------------ central mode


def test_an_actor_acts_alone(program_of, folder):
    program_harness = program_of(
        mode="central", num_actors=2, max_steps=1_000, min_replay_items=50
    )
    actor = program_harness.build("actor/1")
    seen = [actor.step() for _ in range(25)]
    # Counted and pulled every 10 steps.
    assert seen == [0] * 9 + [10] * 10 + [20] * 6
    counts = statistics(program_harness)
    assert (counts.steps, counts.updates) == (20, 0)
    assert last_row(folder.metrics / "actor-1.csv")["updates"] in ("", "0")


def test_an_actor_explores_less_the_more_updates_there_were(program_of, folder):
    program_harness = program_of(
        mode="central",
        max_steps=1_000,
        min_replay_items=100,
        initial_epsilon=1.0,
        final_epsilon=0.5,
        epsilon_horizon_updates=4,
    )
    actor = program_harness.build("actor/0")
    for index in range(3):
        parameter_shard = program_harness.build(f"parameters/{index}")
        vector = wire.read_reply(parameter_shard.pull())[0]
        nothing = bytes(len(vector))
        parameter_shard.push(nothing, 0, 0, 1_000)  # All steps: a row is due.
        parameter_shard.push(nothing, 0, 1, 0)
    while actor.step() < 1_000:
        pass
    assert last_row(folder.metrics / "actor-0.csv")["epsilon"] == "0.75"


def test_a_learner_waits_alone_for_replay_and_learns_from_what_actors_insert(
    program_of, folder
):
    program_harness = program_of(mode="central", num_actors=2, num_replay_shards=2)
    learner = program_harness.build("learner/0")
    learner.step()
    assert "waiting for replay" in last_row(folder.metrics / "learner-0.csv")["waiting"]
    assert statistics(program_harness).updates == 0
    actors = [program_harness.build(f"actor/{index}") for index in range(2)]
    for _ in range(15):
        for actor in actors:
            actor.step()
    while not statistics(program_harness).updates:
        learner.step()
    assert learner.step() == 20  # What the actors have counted so far.
    for index in range(3):
        assert statistics(program_harness, index).updates >= 1
        assert statistics(program_harness, index).steps == 20


def test_learners_draw_from_every_replay_server(program_of):
    program_harness = program_of(mode="central", num_actors=2, num_replay_shards=2)
    learner = program_harness.build("learner/0")
    program_harness.build("actor/0")
    actor = program_harness.build("actor/1")  # Inserts into the second server only.
    for _ in range(15):
        actor.step()
    while not statistics(program_harness).updates:
        learner.step()


def test_actors_have_seeds_of_their_own_and_close_their_games(tmp_path, games):
    config = make_config(
        mode="central", num_actors=3, max_steps=1_000, min_replay_items=100
    )

    def play(order, run_dir):
        """Returns seeds and random actions, by actor."""
        games.clear()
        with harness.ProgramHarness(
            program.build_program(config, str(tmp_path / run_dir))
        ) as program_harness:
            actors = [program_harness.build(f"actor/{index}") for index in order]
            for actor in actors:
                for _ in range(20):
                    actor.step()
            lp.stop()
            for actor in actors:
                actor.run()  # Only closes.
        assert all(game.closed for game in games)
        played = [game for game in games if game.actions]
        return {
            index: (game.seed, tuple(game.actions))
            for index, game in zip(order, played, strict=True)
        }

    first, second = play([0, 1, 2], "first"), play([2, 0, 1], "second")
    assert first == second
    seeds, actions = zip(*first.values(), strict=True)
    assert len(set(seeds)) == len(set(actions)) == 3
    # One that starts again sees other games, and tries other actions.
    again = play([0, 1, 2], "first")
    seeds, actions = zip(*first.values(), *again.values(), strict=True)
    assert len(set(seeds)) == len(set(actions)) == 6


# -------------------------------------------------------- parameters, evaluator and end


def test_a_shard_is_built_alone_and_takes_its_slice_from_the_first_who_offers(
    program_of,
):
    program_harness = program_of(mode="bundled", num_parameter_shards=1)
    parameter_shard = program_harness.build("parameters/0")
    zeros = np.zeros(3, np.float32).tobytes()
    assert wire.read_reply(parameter_shard.initialise(zeros)) is True
    assert wire.read_reply(parameter_shard.initialise(zeros)) is False


def test_the_evaluator_evaluates_alone_when_the_steps_are_taken(program_of, folder):
    program_harness = program_of(mode="bundled", max_steps=50)
    evaluator = program_harness.build("evaluator/0")
    assert not evaluator.step()
    for index in range(3):
        program_harness.build(f"parameters/{index}").add_steps(50)
    assert evaluator.step()
    row = last_row(folder.evaluation_csv)
    assert (row["agent_steps"], row["episodes"], row["final"]) == ("50", "2", "1")


def test_the_coordinator_sees_the_end_alone(program_of, folder):
    program_harness = program_of(mode="bundled", max_steps=50)
    coordinator = program_harness.build("coordinator/0")
    assert not coordinator.step()
    assert summary.read(folder.summary_json).reason == "running"
    evaluator = program_harness.build("evaluator/0")
    for index in range(3):
        program_harness.build(f"parameters/{index}").add_steps(50)
    evaluator.step()
    assert coordinator.step()
    result = summary.read(folder.summary_json)
    assert (result.reason, result.agent_steps) == ("max_steps", 50)
    assert result.evaluation_episodes == 2


def test_more_shards_than_parameters_are_refused_in_one_sentence(program_of):
    # Only a node knows the number of parameters: the launcher builds no network.
    program_harness = program_of(mode="bundled", num_parameter_shards=3)
    config = make_config(num_parameter_shards=1_000)
    layout = nodes.layouts.ParameterLayout(["w"], [[999]])
    with pytest.raises(ValueError, match="1000") as error:
        nodes._store_maker(config, [None] * 1_000, lambda secs: False)(layout)
    assert str(error.value).count(".") <= 1
    assert not program_harness.stopped


# -------------------------------------------------------------------- settings of parts


@pytest.mark.parametrize(
    ("exploration", "epsilons"),
    [("same", [0.5, 0.5, 0.5]), ("spread", [0.5, 0.5**4.5, 0.5**8])],
)
def test_actors_explore_alike_or_spread(exploration, epsilons):
    config = make_config(exploration=exploration)
    spread = [nodes._spread(config, index, 3)(0.5) for index in range(3)]
    assert spread == pytest.approx(epsilons)


def test_the_outlier_rule_can_be_left_out():
    assert nodes._make_outlier_rule(make_config(outlier_deviations=None)) is None
    rule = nodes._make_outlier_rule(
        make_config(
            outlier_deviations=2.0, outlier_warmup_batches=2, outlier_min_loss=0.0
        )
    )
    accepted = [rule.accept(loss) for loss in (1.0, 1.0, 1.0, 50.0)]
    assert accepted == [True, True, True, False]


def test_replay_tables_are_those_of_the_environment():
    [table] = nodes.make_replay_tables(make_config(mode="central"))
    assert table.info.max_size == 100
