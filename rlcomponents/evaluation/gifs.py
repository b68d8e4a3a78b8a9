"""The beginning of a game as a small animated picture, to look at while training runs.

GIF, since TensorBoard plays it among its images and every browser shows it.
"""

import io
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from rlcomponents import extras
from rlcomponents.evaluation import screens as screens_lib

_MAX_SIDE_PIXELS = 250  # Atari and the grids are smaller, and keep every pixel.


class Film:
    """Collects the screens of a game, one an agent step, up to so many steps.

    Attributes:
        screens: So far; the first is before any action. Those of more than 250 pixels
            are scaled down, by a whole number.
    """

    def __init__(self, screen: Callable[[], np.ndarray], *, max_steps: int) -> None:
        """Begins without a picture.

        Args:
            screen: Returns `[H, W, 3]` uint8.
            max_steps: Agent steps after which nothing more is filmed.
        """
        self.screens: list[np.ndarray] = []
        self._screen = screen
        self._first: np.ndarray | None = None  # As it came.
        self._max_steps = max_steps

    def watch(self, length_steps: int) -> None:
        """Films the screen after so many steps; with 0 it begins anew.

        This is what `episodes.play_episodes` calls.

        Raises:
            ValueError: As of `screens.check`.
            ImportError: The screen has to be scaled down, and Pillow is not installed.
        """
        if length_steps == 0:
            self.screens.clear()
            self._first = None
        if length_steps <= self._max_steps:
            screen = screens_lib.check(self._screen(), self._first)
            if self._first is None:
                self._first = screen
            self.screens.append(_scaled_down(screen))


def encode(
    screens: Sequence[np.ndarray], *, frames_per_sec: int, max_bytes: int
) -> bytes:
    """Returns screens as an animated GIF that repeats for ever.

    Up to 256 colours a screen are kept as they are; of more, the nearest of 256.

    Args:
        screens: `[H, W, 3]` uint8 each, at least one, all of one size.
        frames_per_sec: Screens a second, up to 100. A GIF counts in 1/100 s.
        max_bytes: A longer film is cut at its end until it fits.

    Raises:
        ValueError: There is no screen, or one alone is larger than `max_bytes`.
        ImportError: Pillow is not installed.
    """
    if not screens:
        raise ValueError("A GIF needs at least one screen, and there is none.")
    images = _pillow()
    pictures = [images.fromarray(screen) for screen in screens]
    while True:
        file = io.BytesIO()
        pictures[0].save(
            file,
            format="GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=10 * round(100 / frames_per_sec),  # Milliseconds.
            loop=0,
        )
        size_bytes = file.tell()
        if size_bytes <= max_bytes:
            return file.getvalue()
        if len(pictures) == 1:
            raise ValueError(
                f"One screen alone takes {size_bytes} bytes as a GIF, more than the "
                f"{max_bytes} that are allowed."
            )
        pictures = pictures[: max(1, len(pictures) * max_bytes // size_bytes)]


def _scaled_down(screen: np.ndarray) -> np.ndarray:
    """Returns a copy, since environments may have one buffer for all screens."""
    factor = -(-max(screen.shape[:2]) // _MAX_SIDE_PIXELS)
    if factor == 1:
        return screen.copy()
    return np.asarray(_pillow().fromarray(screen).reduce(factor))


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"A GIF needs Pillow: {extras.install('runs')}.") from error
    return Image
