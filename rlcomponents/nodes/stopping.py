"""How a node learns that the program ends, under whatever launches it."""

import launchpad as lp


def wait_for_stop(timeout_secs: float) -> bool:
    """Waits until the program ends or the time has passed; returns whether it ends.

    `lp.wait_for_stop` of the pinned Launchpad returns None whatever happened.
    """
    return bool(lp.stop_event().wait(timeout_secs))
