"""One seed gives one run, and a stop in the middle changes nothing, to the bit."""

import json

import launchpad as lp
import numpy as np
import pytest

from agents.dqn import config as dqn_config
from agents.dqn import program
from rlcomponents import array_files
from rlcomponents.runs import run_folder
from rlcomponents.testing import harness

pytestmark = pytest.mark.usefixtures("patient_learners")

# Counts of starts, and what the clock has a part in.
NOT_OF_THE_RUN = ("epoch", "target_epoch")


def make_config(environment="catch", **settings):
    return dqn_config.DQNConfig(
        **{
            "environment": environment,
            "max_steps": 100_000,
            "batch_size": 8,
            "n_step": 3,
            "steps_per_update": 2,
            "min_replay_items": 40,
            "max_replay_items": 90,
            "target_period_updates": 7,
            "epsilon_horizon_updates": 100,
            "final_epsilon": 0.05,
            "initial_epsilon": 0.2,
            # So large that an action of other parameters is often another action.
            "learning_rate": 0.05,
            "optimiser": "rmsprop",
            **settings,
        }
    )


@pytest.fixture
def play(tmp_path):
    """Runs DQN in a folder for so many steps in each of its lives, stopped after each.

    Returns what it came to: parameters, target, optimiser slots, counts, replay, and
    where in the game and in its random numbers it is.
    """

    def run(name, config, *lives_steps):
        folder = run_folder.RunFolder.create(tmp_path / name)
        for num_steps in lives_steps:
            with harness.ProgramHarness(
                program.build_program(config, str(folder.path))
            ) as built:
                agent = built.build("dqn/0")
                for _ in range(num_steps):
                    agent.step()
                lp.stop()
                agent.run()  # Saves, and ends.
        store = array_files.read(folder.state / "parameters-0.npz")
        parts = json.loads((folder.state / "dqn-0.json").read_text())["parts"]
        replay = (folder.state / "dqn-0-replay" / "replay.npz").read_bytes()
        return (
            {name: x for name, x in store.items() if name not in NOT_OF_THE_RUN},
            parts,
            replay,
        )

    return run


def assert_same(one, other):
    (store, parts, replay), (other_store, other_parts, other_replay) = one, other
    assert store.keys() == other_store.keys()
    for name in store:
        np.testing.assert_array_equal(store[name], other_store[name], err_msg=name)
    assert replay == other_replay
    assert parts == other_parts


def test_two_runs_of_one_seed_are_the_same_to_the_bit(play):
    one, other = (play(name, make_config(seed=3), 300) for name in ("one", "other"))
    assert one[0]["updates"] == (300 - 42) // 2
    assert_same(one, other)


def test_runs_of_two_seeds_differ(play):
    (store, _, replay), (other_store, _, other_replay) = (
        play(str(seed), make_config(seed=seed), 60) for seed in (3, 4)
    )
    assert (store["parameters"] != other_store["parameters"]).any()
    assert replay != other_replay


@pytest.mark.parametrize(
    "lives_steps",
    [
        pytest.param((151, 149), id="in mid-episode"),
        pytest.param((20, 280), id="before the first gradient"),
        pytest.param((100, 1, 2, 50, 1, 46, 100), id="again and again"),
    ],
)
def test_a_run_that_was_stopped_and_resumed_is_the_same_as_an_unbroken_one(
    play, lives_steps
):
    config = make_config(seed=3)
    assert_same(play("unbroken", config, 300), play("stopped", config, *lives_steps))


@pytest.mark.parametrize("environment", ["minatar:breakout", "minatar:seaquest"])
def test_a_game_of_minatar_goes_on_in_the_middle(play, environment):
    config = make_config(environment, network="mlp", double_q=True)
    assert_same(play("unbroken", config, 120), play("stopped", config, 61, 59))


def test_a_game_of_atari_goes_on_in_the_middle(play):
    config = make_config(
        "atari:breakout",
        # No gradient: with several threads, TensorFlow's of convolutions are not the
        # same each time. Nodes have one thread.
        min_replay_items=200,
        max_replay_items=200,
        sticky_action_probability=0.25,
        terminal_on_life_loss=True,
    )
    assert_same(play("unbroken", config, 60), play("stopped", config, 31, 29))


def test_without_its_replay_a_run_goes_on_with_a_new_game_and_an_empty_replay(
    play, tmp_path
):
    config = make_config(seed=3)
    play("run", config, 151)
    replay = tmp_path / "run" / "state" / "dqn-0-replay" / "replay.npz"
    replay.write_bytes(replay.read_bytes()[:1_000])
    with harness.ProgramHarness(
        program.build_program(config, str(tmp_path / "run"))
    ) as built:
        agent = built.build("dqn/0")
        agent.step()
        assert agent._bundle.store.statistics().updates == 54
        agent.close()
    with np.load(replay) as arrays:
        assert arrays["column_0"].shape[0] == 2  # The first observation and the next.
