import typing

import pytest

from agents import run_config
from agents.dqn import config as dqn_config
from agents.gorila_dqn import config as gorila_config


def make_config(**settings):
    return gorila_config.GorilaConfig(**{"environment": "catch", **settings})


def test_every_number_has_a_limit():
    numbers = {
        name
        for name, annotation in typing.get_type_hints(
            gorila_config.GorilaConfig
        ).items()
        if annotation in (float, int, float | None, int | None)
    }
    assert numbers <= make_config().limits().keys()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("num_bundles", 0),
        ("num_actors", 0),
        ("num_learners", -1),
        ("num_replay_shards", 0),
        ("num_parameter_shards", 1_000_000_000),
        ("actor_sync_period_steps", 0),
        ("max_staleness_updates", -1),
        ("outlier_deviations", 0.0),
        ("outlier_min_loss", float("nan")),
        ("parameter_timeout_secs", float("inf")),
        ("mode", "bundles"),
        ("exploration", "none"),
        ("learning_rate", -1.0),  # DQN's settings are checked, too.
    ],
)
def test_a_value_with_which_no_run_could_work_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} is '?{value}'?: it must be "):
        make_config(**{setting: value})


def test_a_replay_shard_without_an_actor_is_refused():
    with pytest.raises(
        ValueError, match=r"num_replay_shards is 3: .* num_actors \(2\)"
    ):
        make_config(mode="central", num_replay_shards=3, num_actors=2)


@pytest.mark.parametrize(
    ("mode", "given", "message"),
    [
        ("bundled", ["num_actors"], "num_actors has no effect .* choose mode=central"),
        (
            "bundled",
            ["num_learners", "seed", "actor_sync_period_steps"],
            "actor_sync_period_steps, num_learners have no effect here: leave them out",
        ),
        ("bundled", ["num_replay_shards"], "choose mode=central"),
        ("central", ["num_bundles"], "num_bundles has no effect .* mode=bundled"),
    ],
)
def test_settings_of_the_other_mode_are_refused(mode, given, message):
    with pytest.raises(ValueError, match=message):
        run_config.refuse_ignored(make_config(mode=mode), given)


def test_settings_of_the_mode_itself_are_not_refused():
    names = ["num_actors", "num_learners", "num_replay_shards", "num_parameter_shards"]
    run_config.refuse_ignored(make_config(mode="central"), names)
    bundled = make_config(mode="bundled")
    run_config.refuse_ignored(bundled, ["num_bundles", "num_parameter_shards"])


def test_settings_of_a_rule_that_is_left_out_are_refused():
    config = make_config(outlier_deviations=None)
    with pytest.raises(ValueError, match="outlier_min_loss has no effect here"):
        run_config.refuse_ignored(config, ["outlier_min_loss"])


def test_settings_that_the_optimiser_ignores_are_refused_here_too():
    config = make_config(optimiser="sgd")
    with pytest.raises(ValueError, match="choose optimiser=momentum or rmsprop"):
        run_config.refuse_ignored(config, ["optimiser_decay"])


@pytest.mark.parametrize(
    ("settings", "num_replays"),
    [
        ({"mode": "bundled", "num_bundles": 4, "num_replay_shards": 2}, 4),
        ({"mode": "central", "num_bundles": 4, "num_replay_shards": 2}, 2),
    ],
)
def test_the_minimum_fill_is_capped_over_all_replays(settings, num_replays):
    config = make_config(max_steps=8_000, min_replay_items=1_000, **settings)
    assert config.num_replays == num_replays
    assert config.replay_limits().min_items == 800 // num_replays


def test_replay_holds_the_ratio_in_central_mode_only():
    settings = {"batch_size": 32, "steps_per_update": 4}
    assert make_config(mode="bundled", **settings).samples_per_insert is None
    central = make_config(mode="central", **settings)
    assert central.samples_per_insert == 8.0
    assert central.replay_limits().samples_per_insert == 8.0


@pytest.mark.parametrize(
    ("setting", "of_the_paper"),
    [("epsilon_horizon_updates", 1_000_000), ("target_period_updates", 60_000)],
)
def test_periods_are_the_papers_on_atari_and_dqns_elsewhere(setting, of_the_paper):
    def value(environment):
        given = {"environment": environment}
        return getattr(
            run_config.make_config(gorila_config.GorilaConfig, given), setting
        )

    assert value("atari:pong") == of_the_paper
    assert value("catch") == dqn_config.DQNConfig.PRESETS["catch"][setting]
