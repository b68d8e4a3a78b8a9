"""Points in recorded games from which a policy is evaluated, and files of them.

A point is the seed of a game's environment and the actions up to it, with a checksum of
the observation that they lead to. So it needs no saved state of an emulator, which only
the same version could read, and a file that does not lead where it says is noticed.

docs/evaluation.md describes the file, for those who have points from elsewhere.
"""

import json
import pathlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dm_env
import numpy as np
import tree
from acme import core as acme_core

from rlcomponents import array_files, core

FORMAT = "rlcomponents start points 1"
"""First entry of a file, by which it is known."""


class NotReproducedError(ValueError):
    """The actions of a point lead elsewhere than they did when it was recorded."""


class RecordedGame(NamedTuple):
    """A game as it was played.

    Attributes:
        seed: Of its environment, made for this game alone.
        actions: `[num_steps, ...]`, those taken, in the environment's numbering.
    """

    seed: int
    actions: np.ndarray


class StartPoint(NamedTuple):
    """A moment of a recorded game.

    Attributes:
        game: Index of the game.
        num_steps: Actions of the game that lead to it.
        frames_before: Environment frames played before it.
        checksum: Of its observation; see `checksum`.
    """

    game: int
    num_steps: int
    frames_before: int
    checksum: int


class StartPoints(NamedTuple):
    """What a file has.

    Attributes:
        environment: `suite:name`.
        settings: All settings of the environment by name; none of a user's own.
        frames_per_step: Environment frames of an agent step.
        player: Who played, in words.
        games: Those played.
        points: In the order in which they are to be played.
    """

    environment: str
    settings: Mapping[str, Any]
    frames_per_step: int
    player: str
    games: Sequence[RecordedGame]
    points: Sequence[StartPoint]


def checksum(observation: Any) -> int:
    """Returns a number in [0, 2^32) that any other observation would hardly have."""
    total = 0
    for leaf in map(np.asarray, tree.flatten(observation)):
        total = zlib.crc32(f"{leaf.dtype.str}{leaf.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(leaf).tobytes(), total)
    return total


def record(
    make_environment: core.EnvironmentFactory,
    actor: acme_core.Actor,
    seed: int,
    *,
    max_steps: int,
) -> tuple[RecordedGame, list[int]]:
    """Plays a whole game, all its lives, and remembers what was done.

    Args:
        make_environment: Makes the environment of this game.
        actor: Chooses the actions.
        seed: Of the environment.
        max_steps: Agent steps after which the game is cut.

    Returns:
        The game, and the checksum of what was seen before each of its actions.
    """
    environment = make_environment(seed)
    actions: list[np.ndarray] = []
    checksums: list[int] = []
    timestep = environment.reset()
    actor.observe_first(timestep)
    while len(actions) < max_steps:
        checksums.append(checksum(timestep.observation))
        action = actor.select_action(timestep.observation)
        actions.append(np.array(action))
        timestep = environment.step(action)
        actor.observe(action, timestep)
        if timestep.last():
            if getattr(environment, "game_over", True):
                break
            timestep = environment.reset()
            actor.observe_first(timestep)
    environment.close()
    return RecordedGame(seed, np.stack(actions)), checksums


def sample(
    checksums: Sequence[Sequence[int]],
    num_starts: int,
    *,
    frames_per_step: int,
    seed: int,
) -> list[StartPoint]:
    """Draws different points, each moment of the play equally likely.

    Args:
        checksums: Of each game, as `record` returns them.
        num_starts: How many.
        frames_per_step: Environment frames of an agent step.
        seed: Of the draw.

    Returns:
        The points in the order drawn, so that the first few are a fair draw, too.

    Raises:
        ValueError: There are not so many moments, or `num_starts` is below 1.
    """
    moments = [
        (game, step) for game, sums in enumerate(checksums) for step in range(len(sums))
    ]
    if not 1 <= num_starts <= len(moments):
        raise ValueError(
            f"num_starts is {num_starts}: the recorded play has {len(moments):,} "
            "moments, and it must be from 1 to that; play more games, or draw fewer."
        )
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(moments), size=num_starts, replace=False)
    return [
        StartPoint(game, step, step * frames_per_step, checksums[game][step])
        for game, step in (moments[index] for index in drawn)
    ]


def reach(
    environment: dm_env.Environment, game: RecordedGame, point: StartPoint, index: int
) -> Any:
    """Plays up to a point.

    Args:
        environment: Made with the seed of the game, and not used yet.
        game: That of the point.
        point: To be reached.
        index: Of the point, for the message.

    Returns:
        The observation there.

    Raises:
        NotReproducedError: It is not the one that was recorded.
    """
    reason = "its observation is not the recorded one"
    timestep = environment.reset()
    actions = game.actions[: point.num_steps].astype(environment.action_spec().dtype)
    try:
        for action in actions:
            timestep = environment.step(action)
            if timestep.last():  # A life was lost.
                timestep = environment.reset()
    except ValueError as error:
        reason = str(error).rstrip(".")
    else:
        if checksum(timestep.observation) == point.checksum:
            return timestep.observation
    raise NotReproducedError(
        f"Start point {index} could not be reached ({reason}): it was recorded with "
        "another version of the game, or the environment does not do the same with "
        "the same seed; record the points again, with launch/record_starts.py."
    )


def check_environment(
    starts: StartPoints,
    environment: str,
    settings: Mapping[str, Any],
    path: str | pathlib.Path,
) -> None:
    """Refuses points of another environment.

    Args:
        starts: What the file has.
        environment: Where a policy is to be evaluated.
        settings: All settings of it.
        path: Of the file, for the message.

    Raises:
        ValueError: Naming what differs.
    """
    if starts.environment != environment:
        raise ValueError(
            f"{path} has start points in {starts.environment}, and the run is in "
            f"{environment}: give a file of that environment."
        )
    names = sorted(starts.settings.keys() | settings.keys())
    differences = [
        f"{name} {starts.settings.get(name)!r} instead of {settings.get(name)!r}"
        for name in names
        if starts.settings.get(name) != settings.get(name)
    ]
    if differences:
        raise ValueError(
            f"{path} was recorded with other settings of {environment} than the run "
            f"has ({', '.join(differences)}): give a file with the same ones."
        )


def write(path: str | pathlib.Path, starts: StartPoints) -> None:
    """Writes a file; one that is there is replaced.

    Raises:
        OSError: The disk does not take it.
    """
    header = {
        "format": FORMAT,
        "environment": starts.environment,
        "settings": dict(starts.settings),
        "frames_per_step": starts.frames_per_step,
        "player": starts.player,
    }
    actions = np.concatenate([game.actions for game in starts.games])
    if np.issubdtype(actions.dtype, np.integer):
        actions = actions.astype(np.min_scalar_type(int(actions.max())))
    array_files.replace(
        pathlib.Path(path),
        {
            "header": np.asarray(json.dumps(header)),
            "game_seeds": np.array([game.seed for game in starts.games], np.int64),
            "game_steps": np.array([len(game.actions) for game in starts.games]),
            "actions": actions,
            "point_games": np.array([point.game for point in starts.points]),
            "point_steps": np.array([point.num_steps for point in starts.points]),
            "point_frames": np.array([point.frames_before for point in starts.points]),
            "point_checksums": np.array(
                [point.checksum for point in starts.points], np.uint32
            ),
        },
    )


def read(path: str | pathlib.Path) -> StartPoints:
    """Reads a file, without pickle.

    Raises:
        ValueError: There is none, or it is damaged or something else.
    """
    try:
        arrays = array_files.read(pathlib.Path(path))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}): give a file of start points."
        ) from error
    try:
        return _parse(arrays)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no file of start points ({type(error).__name__}: {error}): "
            "make one with launch/record_starts.py."
        ) from error


def _parse(arrays: Mapping[str, np.ndarray]) -> StartPoints:
    header = json.loads(str(arrays["header"]))
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
    lengths = arrays["game_steps"]
    if lengths.min() < 1 or lengths.sum() != len(arrays["actions"]):
        raise ValueError("its games have other lengths than its actions")
    games = [
        RecordedGame(int(seed), actions)
        for seed, actions in zip(
            arrays["game_seeds"],
            np.split(arrays["actions"], np.cumsum(lengths)[:-1]),
            strict=True,
        )
    ]
    points = [
        StartPoint(*map(int, row))
        for row in zip(
            arrays["point_games"],
            arrays["point_steps"],
            arrays["point_frames"],
            arrays["point_checksums"],
            strict=True,
        )
    ]
    for point in points:
        if point.game < 0 or not 0 <= point.num_steps <= len(games[point.game].actions):
            raise ValueError(f"{point} is in none of its games")
        if point.frames_before < 0:
            raise ValueError(f"{point} is before the beginning")
    if not points:
        raise ValueError("it has no points")
    frames_per_step = header["frames_per_step"]
    if not isinstance(frames_per_step, int) or frames_per_step < 1:
        raise ValueError(f"its frames_per_step is {frames_per_step!r}")
    return StartPoints(
        str(header["environment"]),
        dict(header["settings"]),
        frames_per_step,
        str(header["player"]),
        games,
        points,
    )
