"""Checks what an environment shows: `screen()` may be anybody's."""

from typing import Any

import numpy as np


def check(screen: Any, like: np.ndarray | None = None) -> np.ndarray:
    """Returns a screen as it came.

    Args:
        screen: What `screen()` of an environment returned.
        like: An earlier screen of the same film. None: there is none.

    Raises:
        ValueError: It is not `[H, W, 3]` uint8, or of another size than before.
    """
    if not isinstance(screen, np.ndarray):
        raise ValueError(
            f"screen() returned {type(screen).__name__}: it must return an array "
            "[H, W, 3] uint8."
        )
    is_image = screen.ndim == 3 and screen.shape[2] == 3 and screen.size > 0
    if not is_image or screen.dtype != np.uint8:
        raise ValueError(
            f"screen() returned {screen.dtype} of shape {screen.shape}: it must return "
            "[H, W, 3] uint8."
        )
    if like is not None and screen.shape != like.shape:
        raise ValueError(
            f"screen() returned shape {screen.shape} after {like.shape}: a film needs "
            "screens of one size."
        )
    return screen
