"""Tests of agents.asynchronous.config, through the configs of its two agents."""

import typing

import pytest

from agents import run_config
from agents.a3c import config as a3c_config
from agents.async_q import config as async_q_config

CONFIGS = (a3c_config.A3CConfig, async_q_config.AsyncQConfig)


def make_config(**settings):
    return a3c_config.A3CConfig(**{"environment": "catch", **settings})


@pytest.mark.parametrize("config_class", CONFIGS)
def test_every_number_has_a_limit(config_class):
    annotations = typing.get_type_hints(config_class)
    numbers = {
        name
        for name, annotation in annotations.items()
        if annotation in (float, int, float | None, int | None)
    }
    assert numbers <= config_class(environment="catch").limits().keys()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("num_workers", 0),
        ("num_workers", 1_001),
        ("envs_per_worker", 0),
        ("t_max_steps", 0),
        ("max_training_episode_steps", 0),
        ("reward_scale", 0.0),
        ("num_parameter_shards", 0),
        ("parameter_timeout_secs", 0.0),
        ("parameter_store", "redis"),
        ("optimiser_statistics", "none"),
        ("learning_rate", -1.0),  # The settings of all runs are checked, too.
    ],
)
def test_a_value_with_which_no_run_could_work_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} is '?{value}'?: it must be "):
        make_config(**{setting: value})


def test_more_workers_than_shared_memory_has_room_for_are_refused():
    make_config(num_workers=255)
    make_config(num_workers=256, parameter_store="server")
    with pytest.raises(
        ValueError, match=r"^num_workers is 256: it must be at most 255 .*=server\.$"
    ):
        make_config(num_workers=256)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("auto", "shared_memory"),
        ("shared_memory", "shared_memory"),
        ("server", "server"),
        ("local", "local"),
    ],
)
def test_the_automatic_store_is_shared_memory(given, kind):
    assert make_config(parameter_store=given).store_kind == kind


def test_a_local_store_is_refused_for_processes():
    config = make_config(parameter_store="local")
    config.check_launch_type("local_mt")
    with pytest.raises(
        ValueError, match=r"^parameter_store is 'local'.*local_mp: use local_mt, or sh"
    ):
        config.check_launch_type("local_mp")


@pytest.mark.parametrize("kind", ["auto", "shared_memory", "server"])
def test_the_other_stores_are_for_processes_and_threads(kind):
    for launch_type in ("local_mp", "local_mt"):
        make_config(parameter_store=kind).check_launch_type(launch_type)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, "num_parameter_shards", "or choose parameter_store=server"),
        ({}, "parameter_timeout_secs", "or choose parameter_store=server"),
        ({}, "adagrad_initial_accumulator", "or choose optimiser=adagrad"),
        ({"optimiser": "sgd"}, "optimiser_statistics", "or choose optimiser=adagrad o"),
    ],
)
def test_what_has_no_effect_is_refused(settings, given, message):
    with pytest.raises(ValueError, match=f"^{given} has no effect here: .*{message}"):
        run_config.refuse_ignored(make_config(**settings), [given])


def test_what_has_an_effect_is_not():
    config = make_config(parameter_store="server", optimiser="momentum")
    names = [
        "num_parameter_shards",
        "parameter_timeout_secs",
        "optimiser_decay",
        "optimiser_statistics",
    ]
    run_config.refuse_ignored(config, names)


@pytest.mark.parametrize("config_class", CONFIGS)
def test_the_defaults_are_the_papers(config_class):
    config = config_class()
    assert (config.t_max_steps, config.envs_per_worker, config.discount) == (5, 1, 0.99)
    assert (config.optimiser, config.optimiser_statistics) == ("rmsprop", "shared")
    assert (config.learning_rate, config.final_learning_rate_fraction) == (7e-4, 0.0)
    assert (config.max_abs_reward, config.max_gradient_norm) == (1.0, 40.0)
    preset = run_config.make_config(config_class, {})
    assert preset.network == "nips_dqn"


@pytest.mark.parametrize("config_class", CONFIGS)
def test_presets_name_settings(config_class):
    for preset in config_class.PRESETS:
        run_config.make_config(config_class, {"environment": "catch"}, preset=preset)
