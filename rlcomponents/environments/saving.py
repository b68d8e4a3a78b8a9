"""Environments that can save themselves, so that a run goes on in mid-episode.

Such an environment has two methods more than `dm_env.Environment`:

    save() -> states.State | None   all that its next steps depend on; a copy
    restore(state) -> None          goes on from there, as if it had never stopped

Settings and seed are not in the state: it is restored in an environment made like the
one that saved it. An environment without them begins a new episode in a resumed run.
"""

from typing import Any

import dm_env

from rlcomponents import states


def save(environment: dm_env.Environment) -> states.State | None:
    """Returns an environment's state; None where it cannot save itself."""
    method = getattr(environment, "save", None)
    return None if method is None else method()


def restore(environment: Any, state: states.State) -> None:
    """Goes on from what `save` returned for such an environment, if not None.

    Raises:
        ValueError: The state is of another environment.
    """
    try:
        environment.restore(state)
    except (AttributeError, KeyError, TypeError, ValueError, SystemError) as error:
        raise ValueError(
            f"This state was not saved by a {type(environment).__name__} like this one "
            f"({type(error).__name__}: {error}): restore it with the settings it was "
            "saved with."
        ) from error
