"""Builds what a parameter store needs from the config; no TensorFlow here."""

from agents.run_config import RunConfig
from rlcomponents import schedules
from rlcomponents.parameters import update_rules


def make_update_rule(config: RunConfig) -> update_rules.UpdateRule:
    """Builds the rule by which the store applies gradients."""
    epsilon = _given(epsilon=config.optimiser_epsilon)
    if config.optimiser == "adagrad":
        return update_rules.AdaGrad(
            initial_accumulator=config.adagrad_initial_accumulator, **epsilon
        )
    if config.optimiser == "adam":
        return update_rules.Adam(**epsilon)
    if config.optimiser == "momentum":
        return update_rules.MomentumSGD(**_given(momentum=config.optimiser_decay))
    if config.optimiser == "rmsprop":
        return update_rules.RMSProp(**_given(decay=config.optimiser_decay), **epsilon)
    return update_rules.SGD()


def make_learning_rate(config: RunConfig) -> schedules.Linear:
    """Builds the step size against the count of agent steps."""
    return schedules.Linear(
        config.learning_rate,
        config.learning_rate * config.final_learning_rate_fraction,
        config.max_steps,
    )


def _given(**settings: float | None) -> dict[str, float]:
    """Leaves out what is None, so that the rule's own default stands."""
    return {name: value for name, value in settings.items() if value is not None}
