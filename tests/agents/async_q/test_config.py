"""Tests of agents.async_q.config."""

import pytest
from dm_env import specs as dm_env_specs

from agents.async_q import config as async_q_config
from rlcomponents import specs


def make_config(**settings):
    return async_q_config.AsyncQConfig(**{"environment": "catch", **settings})


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("algorithm", "two_step_q"),
        ("target_period_steps", 0),
        ("initial_epsilon", 1.5),
        ("final_epsilon", -0.1),
        ("epsilon_horizon_steps", -1),
        ("evaluation_epsilon", 2.0),
    ],
)
def test_a_value_with_which_no_run_could_work_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} is '?{value}'?: it must be "):
        make_config(**{setting: value})


def test_the_defaults_are_the_papers():
    config = make_config()
    assert config.target_copy_period_steps == 10_000  # 40,000 frames, 4 of them a step.
    assert (config.initial_epsilon, config.final_epsilon) == (1.0, None)
    assert config.epsilon_horizon_steps == 1_000_000  # 4 million frames.


def test_it_says_how_evaluation_acts():
    assert make_config(evaluation_epsilon=0.1).evaluation_policy == "epsilon 0.1"


def test_continuous_actions_are_refused():
    spec = specs.EnvironmentSpec(
        observations=dm_env_specs.Array((3,), "float32"),
        actions=dm_env_specs.BoundedArray((2,), "float32", -1.0, 1.0),
        rewards=dm_env_specs.Array((), "float32"),
        discounts=dm_env_specs.BoundedArray((), "float32", 0.0, 1.0),
    )
    with pytest.raises(ValueError, match="a Q-network values each of a finite"):
        make_config().network_kind(spec)


def test_greedy_evaluation_explores_nothing_and_changes_nothing_else():
    config = make_config(evaluation_epsilon=0.1)
    assert config.greedy() == make_config(evaluation_epsilon=0.0)
