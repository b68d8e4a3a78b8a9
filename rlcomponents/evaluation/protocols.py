"""How the papers evaluated: where games begin, when they are cut, how a policy acts.

Reference:
    Nair et al. 2015 (Gorila), both protocols: https://arxiv.org/abs/1507.04296.
    van Hasselt et al. 2015, appendix: https://arxiv.org/abs/1509.06461.
    Mnih et al. 2016 (A3C), human starts: https://arxiv.org/abs/1602.01783.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import dm_env

from rlcomponents import core, seeding
from rlcomponents.environments import registry
from rlcomponents.evaluation import start_points, starts

MAX_NULL_OPS = 30
"""Of null-op starts; there is at least one."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """What an evaluation is, apart from the policy.

    Attributes:
        name: As flags have it; that of the score table, too, where there is one.
        num_episodes: Games to play.
        max_episode_frames: Frames after which a game is cut. None: as the run says.
        epsilon: Of policies that explore by one. None: as the run says.
    """

    name: str
    num_episodes: int
    max_episode_frames: int | None = None
    epsilon: float | None = None


PLAIN = Protocol("plain", 30)
"""Games as the environment begins them, with the settings of the run."""

NOOP_STARTS = Protocol("noop_starts", 30, 18_000, 0.05)
"""Games after 1 to 30 null-ops; their frames do not count for the cap."""

HUMAN_STARTS = Protocol("human_starts", 100, 108_000, 0.05)
"""Games from points of recorded play; the cap counts from the recording's beginning."""

PROTOCOLS = {each.name: each for each in (PLAIN, NOOP_STARTS, HUMAN_STARTS)}
"""All of them, by name."""


def null_op_starts(
    environment: str, settings: Mapping[str, Any]
) -> core.EnvironmentFactory:
    """Returns the factory of an environment whose games begin after null-ops.

    On Atari a null-op lasts one emulator frame, and any game takes it, whatever actions
    it offers to agents; elsewhere it lasts an agent step.

    Args:
        environment: `suite:name`.
        settings: Those that differ from the suite's defaults.

    Returns:
        The factory; it raises ValueError where there is no null action.
    """
    if registry.suite(environment) == "atari":
        settings = {
            **_without_frame_limit(environment, settings),
            "min_null_ops_frames": 1,
            "max_null_ops_frames": MAX_NULL_OPS,
        }
        return registry.make_factory(environment, **settings)
    return functools.partial(
        _make_null_op_starts, registry.make_factory(environment, **settings)
    )


def uncut(environment: str, settings: Mapping[str, Any]) -> core.EnvironmentFactory:
    """Returns the factory of an environment that cuts no game itself.

    Args:
        environment: `suite:name`.
        settings: Those that differ from the suite's defaults.
    """
    return registry.make_factory(
        environment, **_without_frame_limit(environment, settings)
    )


def recording_settings(environment: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all settings of an environment in which start points are recorded.

    The environment itself cuts no game: the protocol's cap is another.
    """
    return registry.all_settings(
        environment, **_without_frame_limit(environment, settings)
    )


def point_starts(
    points: start_points.StartPoints, *, max_game_frames: int
) -> core.EnvironmentFactory:
    """Returns the factory of an environment whose games begin at recorded points."""
    return functools.partial(
        _make_point_starts, points, max_game_frames=max_game_frames
    )


def _without_frame_limit(
    environment: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    if "max_episode_frames" not in registry.all_settings(environment):
        return dict(settings)
    return {**settings, "max_episode_frames": None}


def _make_null_op_starts(
    make_environment: core.EnvironmentFactory, seed: int
) -> dm_env.Environment:
    return starts.NullOpStarts(
        make_environment(seed),
        max_null_ops_steps=MAX_NULL_OPS,
        seed=seeding.derive(seed, "null-ops"),
    )


def _make_point_starts(
    points: start_points.StartPoints, seed: int, *, max_game_frames: int
) -> dm_env.Environment:
    del seed  # Each game has that of its recording.
    return starts.PointStarts(
        registry.make_factory(points.environment, **points.settings),
        points.games,
        points.points,
        frames_per_step=points.frames_per_step,
        max_game_frames=max_game_frames,
    )
