"""Tests of agents.a3c.config."""

import pytest
from dm_env import specs as dm_env_specs

from agents import run_config
from agents.a3c import config as a3c_config
from rlcomponents import specs


def make_config(**settings):
    return a3c_config.A3CConfig(**{"environment": "catch", **settings})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("lstm_size", 0), ("entropy_cost", -0.1), ("value_coefficient", -1.0)],
)
def test_a_value_with_which_no_run_could_work_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} is {value}: it must be "):
        make_config(**{setting: value})


def test_whole_episodes_are_of_one_environment():
    make_config(whole_episodes=True)
    with pytest.raises(
        ValueError, match=r"^envs_per_worker is 2: with whole_episodes it must be 1, "
    ):
        make_config(whole_episodes=True, envs_per_worker=2)


def test_whole_episodes_have_no_other_end():
    assert make_config(t_max_steps=7).max_rollout_steps == 7
    assert make_config(whole_episodes=True).max_rollout_steps > 10**9


@pytest.mark.parametrize(
    ("settings", "given", "user"),
    [
        ({}, "lstm_size", "recurrent=true"),
        ({"whole_episodes": True}, "t_max_steps", "whole_episodes=false"),
    ],
)
def test_what_has_no_effect_is_refused(settings, given, user):
    with pytest.raises(ValueError, match=f"^{given} has no effect here: .*{user}"):
        run_config.refuse_ignored(make_config(**settings), [given])
    run_config.refuse_ignored(make_config(recurrent=True), ["lstm_size", "t_max_steps"])


def test_it_has_no_target_network():
    assert make_config().target_copy_period_steps is None


@pytest.mark.parametrize(
    ("greedy", "words"), [(False, "drawn actions"), (True, "likeliest actions")]
)
def test_it_says_how_evaluation_acts(greedy, words):
    assert make_config(greedy_evaluation=greedy).evaluation_policy == words


def test_continuous_actions_are_welcome_and_images_need_convolutions():
    spec = specs.EnvironmentSpec(
        observations=dm_env_specs.Array((3,), "float32"),
        actions=dm_env_specs.BoundedArray((2,), "float32", -1.0, 1.0),
        rewards=dm_env_specs.Array((), "float32"),
        discounts=dm_env_specs.BoundedArray((), "float32", 0.0, 1.0),
    )
    assert make_config().network_kind(spec) == "mlp"
    with pytest.raises(ValueError, match="nips_dqn"):
        make_config(network="nips_dqn").network_kind(spec)


def test_greedy_evaluation_takes_the_likeliest_action_and_changes_nothing_else():
    config = make_config(seed=7)
    assert config.greedy() == make_config(seed=7, greedy_evaluation=True)
