"""Tests of agents.run_config; the configs of agents have more of their own."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from agents import run_config
from agents.dqn import config as dqn_config


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(run_config.RunConfig):
    """Of an agent with nothing of its own but presets."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "atari": {"max_steps": 1},
        "minatar": {"max_steps": 2},
        "catch": {"max_steps": 3, "discount": 0.5},
        "catch:blind": {"max_steps": 4},
    }


@pytest.mark.parametrize(
    ("environment", "max_steps"),
    [
        ("atari:pong", 1),
        ("minatar:breakout", 2),
        ("catch", 3),
        ("catch:blind", 4),
        ("module:math:sin", 2),
    ],
)
def test_the_automatic_preset_goes_by_the_environment_then_by_its_suite(
    environment, max_steps
):
    config = run_config.make_config(Config, {"environment": environment})
    assert config.max_steps == max_steps


def test_without_an_environment_it_goes_by_the_default_one():
    assert run_config.make_config(Config, {}).max_steps == 1


def test_what_is_given_goes_before_the_preset():
    config = run_config.make_config(
        Config, {"environment": "catch", "max_steps": 7}, preset="catch"
    )
    assert (config.max_steps, config.discount) == (7, 0.5)


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(
        ValueError, match=r"'foo': .* one of auto, atari, catch, catch:blind, m"
    ):
        run_config.make_config(Config, {}, preset="foo")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["adagrad_initial_accumulator"],
            "^adagrad_initial_accumulator has no effect here: leave it out, or choose "
            r"optimiser=adagrad\.$",
        ),
        (["optimiser_decay"], "optimiser=momentum or rmsprop"),
        (["max_evaluation_video_steps"], "num_evaluation_videos=1 or more"),
    ],
)
def test_what_was_chosen_without_effect_is_refused(given, message):
    config = Config(environment="catch", optimiser="sgd", num_evaluation_videos=0)
    run_config.refuse_ignored(config, ["optimiser", "max_steps"])
    with pytest.raises(ValueError, match=message):
        run_config.refuse_ignored(config, given)


def test_an_agent_of_no_other_needs_runs_any_way_and_keeps_no_replay():
    config = Config(environment="catch")
    for launch_type in ("local_mp", "local_mt"):
        config.check_launch_type(launch_type)
    assert config.replay_capacity_items == 0
    assert config.notes() == []
    assert config.evaluation_policy == "the policy as it is"


def test_evaluation_frames_are_counted_in_agent_steps():
    assert Config(max_evaluation_frames=18_000).max_evaluation_steps == 4_500
    assert (
        Config(environment="catch", max_evaluation_frames=9).max_evaluation_steps == 9
    )


def test_lives_do_not_matter_for_scores():
    config = Config(environment="atari:pong", terminal_on_life_loss=True)
    assert config.environment_settings() == {"terminal_on_life_loss": True}
    assert config.environment_settings(evaluation=True) == {}


def test_an_agent_without_greedy_evaluation_says_so():
    with pytest.raises(ValueError, match="has no greedy evaluation"):
        run_config.RunConfig(environment="catch").greedy()


def test_an_agent_with_an_epsilon_can_be_evaluated_with_another():
    config = dqn_config.DQNConfig(environment="catch", evaluation_epsilon=0.0)
    assert config.explores_by_epsilon
    assert config.with_epsilon(0.25).evaluation_epsilon == 0.25
    with pytest.raises(ValueError, match="evaluation_epsilon is 2"):
        config.with_epsilon(2.0)


def test_an_agent_without_an_epsilon_says_so():
    config = run_config.RunConfig(environment="catch")
    assert not config.explores_by_epsilon
    with pytest.raises(ValueError, match=r"epsilon is 0.1: RunConfig has a policy of"):
        config.with_epsilon(0.1)
