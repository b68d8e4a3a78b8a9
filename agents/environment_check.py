"""Looks at the environment of a run once, before any process starts.

No TensorFlow here, so that a launcher can do it.
"""

from agents.run_config import RunConfig
from rlcomponents import seeding, specs
from rlcomponents.environments import checker, registry


def check_environment(config: RunConfig) -> None:
    """Builds the environment, and refuses it where the agent could not learn in it.

    A user's own (`module:...`) is also played for some steps; those that come with the
    library have been.

    Args:
        config: Of the run.

    Raises:
        ValueError: The environment is at fault, or the network does not fit it.
        Exception: Whatever a user's own environment raises.
    """
    environment = config.make_environment_factory()(
        seeding.derive(config.seed, "environment check")
    )
    try:
        config.network_kind(specs.make_environment_spec(environment))
        if registry.suite(config.environment) == registry.USERS_OWN:
            checker.check(environment)
    finally:
        environment.close()
