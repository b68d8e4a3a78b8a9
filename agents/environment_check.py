"""Looks at the environment of a run once, before any process starts.

No TensorFlow here, so that a launcher can do it; but for a torso of the user's own,
which is built to see that it fits.
"""

from agents.run_config import RunConfig
from rlcomponents import names, seeding, specs
from rlcomponents.environments import checker, registry
from rlcomponents.nodes import lazy

_CHECK_TORSO = lazy.Constructor("rlcomponents.networks.own_torso", "check")


def check_environment(config: RunConfig) -> None:
    """Builds the environment, and refuses it where the agent could not learn in it.

    A user's own (`module:...`) is also played for some steps; those that come with the
    library have been.

    Args:
        config: Of the run.

    Raises:
        ValueError: The environment is at fault, or the network does not fit it.
        ImportError: The module of a torso of the user's own is missing.
        Exception: Whatever a user's own environment raises.
    """
    environment = config.make_environment_factory()(
        seeding.derive(config.seed, "environment check")
    )
    try:
        environment_spec = specs.make_environment_spec(environment)
        kind = config.network_kind(environment_spec)
        if names.is_own(kind):
            _CHECK_TORSO(kind, environment_spec)
        if registry.suite(config.environment) == registry.USERS_OWN:
            checker.check(environment)
    finally:
        environment.close()
