import dataclasses
import typing

import pytest

from agents import run_config
from agents.dqn import config as dqn_config
from rlcomponents import specs
from rlcomponents.environments import registry


def make_config(**settings):
    return dqn_config.DQNConfig(**{"environment": "catch", **settings})


def spec_of(environment):
    return specs.make_environment_spec(registry.make_factory(environment)(0))


# ------------------------------------------------------------------------ bad input


def test_every_number_has_a_limit():
    config = make_config()
    types_by_name = typing.get_type_hints(dqn_config.DQNConfig)
    numbers = {
        name
        for name, annotation in types_by_name.items()
        if annotation in (float, int, float | None, int | None)
    }
    assert numbers <= config.limits().keys()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_steps", 0),
        ("batch_size", 0),
        ("n_step", 0),
        ("seed", -1),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", "0.1"),
        ("discount", 1.5),
        ("initial_epsilon", -0.1),
        ("optimiser_decay", 1.0),
        ("optimiser", "adamw"),
        ("network", "resnet"),
        ("max_replay_items", 10**30),
        ("checkpoint_period_secs", float("inf")),
    ],
)
def test_a_value_with_which_no_run_could_work_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} is '?{value}'?: it must be "):
        make_config(**{setting: value})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_step": 11, "max_steps": 10}, r"n_step is 11.* max_steps \(10\)"),
        ({"steps_per_update": 11, "max_steps": 10}, "steps_per_update is 11"),
        (
            {"batch_size": 101, "max_replay_items": 100, "min_replay_items": 1},
            r"^batch_size is 101: it must be at most max_replay_items \(100\)",
        ),
        (
            {"max_replay_items": 100, "min_replay_items": 101},
            r"^min_replay_items is 101: it must be at most max_replay_items \(100\)",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        make_config(**settings)


@pytest.mark.parametrize(
    ("n_step", "steps_per_update", "step"), [(91, 1, 101), (95, 1, 105), (90, 3, 102)]
)
def test_a_run_that_would_end_before_its_first_update_is_refused(
    n_step, steps_per_update, step
):
    # The minimum fill is a tenth of the steps: 10.
    with pytest.raises(ValueError, match=rf"^n_step is {n_step}: .*at step {step},"):
        make_config(max_steps=100, n_step=n_step, steps_per_update=steps_per_update)


@pytest.mark.parametrize(("n_step", "steps_per_update"), [(90, 1), (89, 3), (90, 4)])
def test_a_run_that_ends_with_its_first_update_is_not_refused(n_step, steps_per_update):
    make_config(max_steps=100, n_step=n_step, steps_per_update=steps_per_update)


@pytest.mark.parametrize(
    ("environment", "settings", "message"),
    [
        ("atari:pongg", {}, "did you mean 'pong'"),
        ("atary:pong", {}, "did you mean 'atari'"),
        ("catch", {"terminal_on_life_loss": True}, "catch has no setting 'terminal_on"),
        ("catch", {"sticky_action_probability": 0.1}, "catch has no setting 'sticky_"),
        ("minatar:breakout", {"full_action_set": True}, "has no setting 'full_action"),
    ],
)
def test_what_an_environment_does_not_know_is_refused(environment, settings, message):
    with pytest.raises(ValueError, match=message):
        dqn_config.DQNConfig(environment=environment, **settings)


# --------------------------------------------------------------- settings and presets


@pytest.mark.parametrize(
    ("environment", "preset"),
    [
        ("atari:breakout", "atari"),
        ("minatar:freeway", "minatar"),
        ("catch", "catch"),
        ("module:math:sin", "minatar"),  # Values for small environments.
    ],
)
def test_the_automatic_preset_goes_by_the_suite(environment, preset):
    given = {"environment": environment}
    automatic = run_config.make_config(dqn_config.DQNConfig, given)
    named = run_config.make_config(dqn_config.DQNConfig, given, preset=preset)
    assert automatic == named
    for name, value in dqn_config.DQNConfig.PRESETS[preset].items():
        assert getattr(automatic, name) == value


def test_the_atari_preset_is_the_papers_values_which_are_the_defaults():
    config = run_config.make_config(dqn_config.DQNConfig, {})
    assert config == dqn_config.DQNConfig()
    assert config.environment == "atari:pong"
    assert (config.batch_size, config.discount, config.max_abs_reward) == (32, 0.99, 1)
    assert (config.initial_epsilon, config.final_epsilon) == (1.0, 0.1)
    assert config.max_replay_items == 1_000_000
    assert config.evaluation_epsilon == 0.05


def test_exploration_falls_over_the_papers_million_agent_steps():
    config = run_config.make_config(dqn_config.DQNConfig, {})
    horizon_steps = config.epsilon_horizon_updates * config.steps_per_update
    assert horizon_steps == 1_000_000  # 4 million frames.


def test_what_is_given_goes_before_the_preset():
    config = run_config.make_config(
        dqn_config.DQNConfig, {"environment": "catch", "max_steps": 777}
    )
    assert config.max_steps == 777
    assert (
        config.max_replay_items
        == dqn_config.DQNConfig.PRESETS["catch"]["max_replay_items"]
    )


@pytest.mark.parametrize("preset", dqn_config.DQNConfig.PRESETS)
def test_a_preset_names_settings_and_ends_by_itself(preset):
    names = {field.name for field in dataclasses.fields(dqn_config.DQNConfig)}
    assert dqn_config.DQNConfig.PRESETS[preset].keys() <= names
    config = run_config.make_config(dqn_config.DQNConfig, {}, preset=preset)
    assert config.max_steps < float("inf")


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="preset is 'foo': it must be one of auto, at"):
        run_config.make_config(dqn_config.DQNConfig, {}, preset="foo")


@pytest.mark.parametrize(
    ("optimiser", "given", "user"),
    [
        ("adam", "adagrad_initial_accumulator", "optimiser=adagrad"),
        ("adagrad", "optimiser_decay", "optimiser=momentum or rmsprop"),
        ("sgd", "optimiser_epsilon", "optimiser=adagrad or adam or rmsprop"),
    ],
)
def test_a_setting_that_the_optimiser_ignores_is_refused(optimiser, given, user):
    config = make_config(optimiser=optimiser)
    run_config.refuse_ignored(config, ["optimiser", "learning_rate"])
    with pytest.raises(ValueError, match=f"^{given} has no effect here: .*{user}"):
        run_config.refuse_ignored(config, [given, "learning_rate"])


def test_each_optimiser_uses_what_it_does_not_ignore():
    names = ("adagrad_initial_accumulator", "optimiser_decay", "optimiser_epsilon")
    used = {
        optimiser: {
            name
            for name in names
            if name not in make_config(optimiser=optimiser).ignored_settings()
        }
        for optimiser in run_config.OPTIMISERS
    }
    assert used == {
        "adagrad": {"adagrad_initial_accumulator", "optimiser_epsilon"},
        "adam": {"optimiser_epsilon"},
        "momentum": {"optimiser_decay"},
        "rmsprop": {"optimiser_decay", "optimiser_epsilon"},
        "sgd": set(),
    }


# ----------------------------------------------------------------- what follows from it


def test_the_minimum_fill_is_capped_at_a_tenth_of_the_steps_and_says_so():
    config = make_config(max_steps=4_000, min_replay_items=50_000)
    assert config.replay_limits().min_items == 400
    assert config.notes() == [
        "Learning starts at 400 transitions in each replay instead of 50,000: all "
        "replays together are capped at a tenth of max_steps (4,000)."
    ]


def test_a_minimum_fill_below_the_cap_stays_and_needs_no_words():
    config = make_config(max_steps=4_000, min_replay_items=400)
    assert config.replay_limits().min_items == 400
    assert config.notes() == []


def test_a_run_of_two_steps_has_a_minimum_fill_all_the_same():
    config = make_config(max_steps=2, steps_per_update=1)
    assert config.replay_limits().min_items == 1


def test_exploration_falls_over_updates_and_then_stays():
    schedule = make_config(
        initial_epsilon=1.0, final_epsilon=0.2, epsilon_horizon_updates=100
    ).epsilon_schedule()
    assert [schedule(count) for count in (0, 50, 100, 1000)] == [1.0, 0.6, 0.2, 0.2]


def test_scores_are_counted_over_whole_games():
    config = dqn_config.DQNConfig(
        terminal_on_life_loss=True, sticky_action_probability=0.25
    )
    assert config.environment_settings() == {
        "terminal_on_life_loss": True,
        "sticky_action_probability": 0.25,
    }
    assert config.environment_settings(evaluation=True) == {
        "sticky_action_probability": 0.25
    }


@pytest.mark.parametrize(
    ("environment", "frames", "steps"),
    [("atari:pong", 18_000, 4_500), ("atari:pong", 3, 1), ("catch", 18_000, 18_000)],
)
def test_the_cut_of_evaluation_games_is_in_frames(environment, frames, steps):
    config = dqn_config.DQNConfig(environment=environment, max_evaluation_frames=frames)
    assert config.max_evaluation_steps == steps


@pytest.mark.parametrize(
    ("environment", "kind"), [("catch", "mlp"), ("minatar:breakout", "minatar")]
)
def test_the_automatic_network_goes_by_the_observations(environment, kind):
    config = make_config(environment=environment)
    assert config.network_kind(spec_of(environment)) == kind


def test_a_network_that_does_not_fit_is_refused():
    config = make_config(network="nature_dqn")
    with pytest.raises(ValueError, match=r"shape \(10, 5\)"):
        config.network_kind(spec_of("catch"))


def test_greedy_evaluation_explores_nothing_and_changes_nothing_else():
    config = make_config(evaluation_epsilon=0.1)
    assert config.greedy() == make_config(evaluation_epsilon=0.0)


def test_exploration_over_no_updates_is_the_final_one_at_once():
    config = make_config(final_epsilon=0.2, epsilon_horizon_updates=0)
    assert [config.epsilon_schedule()(count) for count in (0, 1, 999)] == [0.2] * 3
