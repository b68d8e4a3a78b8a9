import numpy as np
import pytest

from agents import saved_policy
from agents.dqn import config as dqn_config
from agents.dqn import parts
from rlcomponents.environments import wrappers
from rlcomponents.parameters import tf_variables
from rlcomponents.runs import checkpoints


def make_config(**settings):
    return dqn_config.DQNConfig(
        **{"environment": "catch", "evaluation_epsilon": 0.0, **settings}
    )


def make_variables(config):
    network = parts.make_network(config, parts.make_environment_spec(config))
    return network, tf_variables.FlatVariables(network.trainable_variables)


def load(config, checkpoint):
    return saved_policy.load(config, checkpoint, parts.make_player)


def save(directory, config, vector, num_shards=2):
    return checkpoints.save(
        directory,
        agent_steps=1234,
        parts={
            f"parameters_{index}": {"parameters": part}
            for index, part in enumerate(np.array_split(vector, num_shards))
        },
        facts={"agent_steps": 1234, "num_parameter_shards": num_shards},
    )


@pytest.mark.parametrize("num_shards", [1, 3])
def test_the_policy_has_the_parameters_that_were_saved(tmp_path, num_shards):
    config = make_config()
    network, variables = make_variables(config)
    vector = np.random.default_rng(0).normal(size=variables.layout.num_parameters)
    variables.assign(vector.astype(np.float32))
    policy = load(config, save(tmp_path, config, variables.vector(), num_shards))
    assert policy.agent_steps == 1234
    rng = np.random.default_rng(1)
    for _ in range(20):
        observation = rng.normal(size=(10, 5)).astype(np.float32)
        best = int(np.argmax(network(observation[None])))
        assert policy.actor.select_action(observation) == best


def test_it_plays_the_same_games_each_time(tmp_path):
    config = make_config(evaluation_epsilon=0.5)
    _, variables = make_variables(config)
    path = save(tmp_path, config, variables.vector())
    first, second = (load(config, path).play(10) for _ in range(2))
    assert first == second
    assert len(first.returns) == 10


def test_it_explores_as_evaluation_says(tmp_path):
    config = make_config(evaluation_epsilon=1.0)
    _, variables = make_variables(config)
    policy = load(config, save(tmp_path, config, variables.vector()))
    observation = np.zeros((10, 5), np.float32)
    assert {int(policy.actor.select_action(observation)) for _ in range(99)} == {
        0,
        1,
        2,
    }


def test_games_are_cut_where_the_run_cuts_them(tmp_path):
    config = make_config(max_evaluation_frames=4)
    _, variables = make_variables(config)
    policy = load(config, save(tmp_path, config, variables.vector()))
    assert policy.play(2).lengths_steps == (4, 4)


def test_it_plays_in_another_environment_where_one_is_given(tmp_path):
    config = make_config(max_evaluation_frames=50)
    _, variables = make_variables(config)
    path = save(tmp_path, config, variables.vector())
    made = []

    def make_environment(seed):
        made.append(seed)
        return wrappers.StepLimit(config.make_environment_factory()(seed), 3)

    policy = saved_policy.load(config, path, parts.make_player, make_environment)
    assert policy.play(2).lengths_steps == (3, 3)
    assert len(made) == 1


def test_a_game_can_be_filmed(tmp_path):
    config = make_config()
    _, variables = make_variables(config)
    policy = load(config, save(tmp_path, config, variables.vector()))
    policy.film(str(tmp_path / "game.mp4"))
    assert (tmp_path / "game.mp4").stat().st_size > 1_000


def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    config = make_config()
    _, variables = make_variables(config)
    path = save(tmp_path, config, variables.vector())
    with pytest.raises(ValueError, match=r"parameters and the network .* no longer"):
        load(make_config(dueling=True), path)
