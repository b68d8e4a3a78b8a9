"""What `launcher.launch` can be asked for, by the names that scripts give it as flags.

Apart from the launcher so that a script refuses bad input before it makes a run folder.
"""

LAUNCH_TYPES = ("local_mp", "local_mt")
"""Nodes in processes, nodes in threads."""

_ON_FAILURE = ("restart", "stop")
_MIN_HANG_TIMEOUT_SECS = 5.0


def check_launch_type(launch_type: str) -> None:
    """Raises ValueError unless programs can be launched in this way."""
    if launch_type in LAUNCH_TYPES:
        return
    allowed = "use local_mp (nodes in processes) or local_mt (nodes in threads)."
    if launch_type in ("test_mt", "test_mp"):
        raise ValueError(
            f"--lp_launch_type={launch_type} is for tests, which call lp.launch with a "
            f"test_case: {allowed}"
        )
    raise ValueError(f"--lp_launch_type={launch_type} is not supported: {allowed}")


def check_on_failure(on_failure: str | None, launch_type: str) -> None:
    """Raises ValueError unless programs launched in this way can do so."""
    if on_failure not in (None, *_ON_FAILURE):
        raise ValueError(
            f"--on_failure={on_failure} is not known: use restart (a node that died is "
            "started again) or stop (the program ends)."
        )
    if on_failure == "restart" and launch_type == "local_mt":
        raise ValueError(
            "--on_failure=restart needs nodes in processes of their own, and with "
            "--lp_launch_type=local_mt they are threads: use stop, or local_mp."
        )


def check_hang_timeout(hang_timeout_secs: float | None) -> None:
    """Raises ValueError unless nodes can be held to this limit."""
    # Signs of life come once a second, and later from a machine that is busy.
    if hang_timeout_secs is None or hang_timeout_secs >= _MIN_HANG_TIMEOUT_SECS:
        return
    raise ValueError(
        f"--hang_timeout_secs={hang_timeout_secs:g} is too short to tell a hang from a "
        f"busy machine: give at least {_MIN_HANG_TIMEOUT_SECS:g}, or none."
    )
