"""Films one game, to see what the numbers do not say."""

import pathlib
from collections.abc import Generator
from typing import Any

import dm_env
import numpy as np
from acme import core as acme_core

from rlcomponents import extras
from rlcomponents.evaluation import episodes, screens

_WATCHABLE_PIXELS = 400


def record(
    environment: dm_env.Environment,
    actor: acme_core.Actor,
    path: str | pathlib.Path,
    *,
    frames_per_sec: int,
    max_frames: int,
) -> int:
    """Plays one whole game and writes its screens as an mp4 file (H.264).

    Args:
        environment: Has `screen()`, which returns `[H, W, 3]` uint8. Lives are
            played to the last, as in `episodes.play_episodes`.
        actor: Chooses the actions; it is not updated.
        path: The file, ending in .mp4. It is replaced.
        frames_per_sec: Screens a second; one screen is taken an agent step. Atari with
            4 frames a step is in real time at 15.
        max_frames: Screens after which the film ends, if the game does not.

    Returns:
        The number of screens in the film.

    Raises:
        ValueError: `path` does not end in .mp4 or cannot be written, a number is below
            1, the environment has no screen, or one that `screens.check` refuses.
        ImportError: imageio-ffmpeg is not installed.
    """
    if pathlib.Path(path).suffix != ".mp4":
        raise ValueError(f"A video is written as .mp4, not as {str(path)!r}.")
    if frames_per_sec < 1 or max_frames < 1:
        raise ValueError(
            "frames_per_sec and max_frames must be at least 1, not "
            f"{frames_per_sec} and {max_frames}."
        )
    if not hasattr(environment, "screen"):
        raise ValueError(
            "The environment has no screen() to film: give it a method of that name "
            "which returns [H, W, 3] uint8."
        )
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ImportError(
            f"Recording a video needs imageio-ffmpeg: {extras.install('video')}."
        ) from error

    _check_writable(pathlib.Path(path))
    films: list[Generator[None, Any, None]] = []  # One, when its size is known.
    first: np.ndarray | None = None
    num_frames = 0

    def shoot(length_steps: int) -> None:
        nonlocal first, num_frames
        if num_frames == max_frames:
            return
        screen = screens.check(environment.screen(), first)
        first = screen if first is None else first
        frame = _enlarge(screen)
        if not films:
            height, width, _ = frame.shape
            film = imageio_ffmpeg.write_frames(
                str(path),
                (width, height),
                fps=frames_per_sec,
                quality=8,
                macro_block_size=2,  # Sizes are even; the default would rescale.
                ffmpeg_log_level="error",
            )
            film.send(None)
            films.append(film)
        films[0].send(frame)
        num_frames += 1

    try:
        episodes.play_episodes(
            environment,
            actor,
            1,
            should_stop=lambda: num_frames >= max_frames,
            watch=shoot,
        )
    finally:
        for film in films:
            film.close()
    return num_frames


def _check_writable(path: pathlib.Path) -> None:
    """Empties the file; ffmpeg would only say that a pipe broke."""
    try:
        path.open("wb").close()
    except OSError as error:
        raise ValueError(
            f"The video {path} cannot be written ({error.strerror}): give a file in a "
            "folder in which you can make files."
        ) from error


def _enlarge(screen: np.ndarray) -> np.ndarray:
    """Repeats pixels to a watchable size of even sides, which H.264 asks for.

    Args:
        screen: `[H, W, 3]` uint8.

    Returns:
        `[k * H, k * W, 3]` uint8, contiguous, k even: the long side is 400 or more.
    """
    factor = 2 * -(-_WATCHABLE_PIXELS // (2 * max(screen.shape[:2])))
    return np.ascontiguousarray(screen.repeat(factor, axis=0).repeat(factor, axis=1))
