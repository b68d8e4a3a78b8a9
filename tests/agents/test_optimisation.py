import pytest

from agents import optimisation, run_config
from agents.dqn import config as dqn_config
from rlcomponents.parameters import update_rules


def make_config(**settings):
    return dqn_config.DQNConfig(environment="catch", **settings)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        (
            {"optimiser": "adagrad", "adagrad_initial_accumulator": 0.5},
            update_rules.AdaGrad(initial_accumulator=0.5),
        ),
        (
            {"optimiser": "adagrad", "optimiser_epsilon": 0.25},
            update_rules.AdaGrad(epsilon=0.25),
        ),
        ({"optimiser": "adam"}, update_rules.Adam()),
        (
            {"optimiser": "adam", "optimiser_epsilon": 0.25},
            update_rules.Adam(epsilon=0.25),
        ),
        ({"optimiser": "momentum"}, update_rules.MomentumSGD()),
        (
            {"optimiser": "momentum", "optimiser_decay": 0.0},
            update_rules.MomentumSGD(momentum=0.0),
        ),
        ({"optimiser": "rmsprop"}, update_rules.RMSProp()),
        (
            {"optimiser": "rmsprop", "optimiser_decay": 0.5, "optimiser_epsilon": 2},
            update_rules.RMSProp(decay=0.5, epsilon=2),
        ),
        ({"optimiser": "sgd"}, update_rules.SGD()),
    ],
)
def test_the_rule_is_the_chosen_one_with_its_settings(settings, rule):
    assert optimisation.make_update_rule(make_config(**settings)) == rule


def test_the_help_has_the_numbers_that_stand_where_none_is_given():
    text = " ".join(str(run_config.RunConfig.__doc__).split())
    epsilons = {
        name: optimisation.make_update_rule(make_config(optimiser=name)).epsilon
        for name in ("rmsprop", "adam", "adagrad")
    }
    listed = ", ".join(f"{value} ({name})" for name, value in epsilons.items())
    assert f"AdaGrad's. None: {listed}." in text
    decay = update_rules.RMSProp().decay
    assert update_rules.MomentumSGD().momentum == decay
    assert f"or of momentum. None: {decay}." in text


@pytest.mark.parametrize("optimiser", run_config.OPTIMISERS)
def test_extreme_settings_that_the_config_allows_are_allowed_by_the_rule(optimiser):
    config = make_config(
        optimiser=optimiser,
        optimiser_decay=0.0,
        optimiser_epsilon=1e-37,
        adagrad_initial_accumulator=0.0,
    )
    optimisation.make_update_rule(config)


def test_the_learning_rate_falls_over_agent_steps():
    rate = optimisation.make_learning_rate(
        make_config(learning_rate=0.4, final_learning_rate_fraction=0.5, max_steps=100)
    )
    assert [rate(steps) for steps in (0, 50, 100, 1000)] == pytest.approx(
        [0.4, 0.3, 0.2, 0.2]
    )


def test_the_learning_rate_stays_by_default():
    rate = optimisation.make_learning_rate(make_config(learning_rate=0.4))
    assert rate(0) == rate(10**9) == 0.4
