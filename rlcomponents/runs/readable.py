"""Numbers as people read them."""

import math


def short(value: float | None) -> str:
    """Returns about three significant digits; a dash where there is no number."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"


def in_bytes(num_bytes: float) -> str:
    """Returns a size in MB, or GB from one on."""
    if num_bytes < 1e9:
        return f"{num_bytes / 1e6:.0f} MB"
    return f"{num_bytes / 1e9:.1f} GB"


def duration(secs: float) -> str:
    """Returns `minutes:seconds`, or `hours:minutes:seconds`."""
    minutes, seconds = divmod(int(secs), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"
