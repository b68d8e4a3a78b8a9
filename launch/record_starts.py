"""Lets the policy that a run has saved play, and draws start points from its games.

The papers drew such points from games of human experts, which nobody has published.
These are a program's, and the file says so.

python launch/record_starts.py --run_dir=runs/... --out=starts.npz
"""

import dataclasses
import os
import pathlib
import sys
from collections.abc import Sequence

from agents import setting_checks
from launch import command_line, saved_runs
from rlcomponents import seeding
from rlcomponents.environments import registry
from rlcomponents.evaluation import protocols, start_points
from rlcomponents.runs import run_folder


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordingFlags:
    """Flags of a recording.

    Attributes:
        run_dir: Folder of the run.
        checkpoint: `newest`, or `best`: the one of the best evaluation in training.
        out: File to write; one that is there is replaced.
        num_starts: Points to draw, each moment of the games equally likely.
        episodes: Whole games to play, each cut after 108,000 frames.
        seed: Of the games, the policy's random actions and the draw.
        epsilon: Chance of a random action. None: as the run's settings say.
    """

    run_dir: str | None = None
    checkpoint: str = saved_runs.NEWEST
    out: str | None = None
    num_starts: int = protocols.HUMAN_STARTS.num_episodes
    episodes: int = 10
    seed: int = 0
    epsilon: float | None = None


def main(argv: Sequence[str]) -> int:
    """Records as the flags say; returns the exit code."""
    flags = command_line.parse(argv, __doc__, run_class=RecordingFlags).run
    with command_line.bad_input_refused():
        path = _check(flags)
        environment = saved_runs.environment_name(flags.run_dir)
    with command_line.bad_input_refused(environment):
        starts = _record(flags)
        with command_line.unwritable_refused(path):
            start_points.write(path, starts)
    num_steps = sum(len(game.actions) for game in starts.games)
    print(
        f"{path}: {len(starts.points)} start points from {len(starts.games)} games of "
        f"{num_steps:,} agent steps in {environment},\n"
        f"played by {starts.player}"
    )
    return 0


def _check(flags: RecordingFlags) -> pathlib.Path:
    setting_checks.check(
        flags,
        {
            "checkpoint": setting_checks.one_of((saved_runs.NEWEST, saved_runs.BEST)),
            "num_starts": setting_checks.AT_LEAST_ONE,
            "episodes": setting_checks.AT_LEAST_ONE,
            "seed": setting_checks.NOT_NEGATIVE,
            "epsilon": setting_checks.FRACTION,
        },
    )
    if flags.out is None:
        raise ValueError(
            "--out is missing: give the file to write, such as starts.npz."
        )
    path = pathlib.Path(flags.out)
    with command_line.unwritable_refused(path):
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(
                f"--out is {flags.out!r}: it must be a file in a folder that exists."
            )
    return path


def _record(flags: RecordingFlags) -> start_points.StartPoints:
    """Plays, draws, and sees whether each point can be reached again."""
    assert flags.run_dir is not None  # Its environment was asked for before.
    run = saved_runs.find(flags.run_dir, checkpoint=flags.checkpoint)
    config = run.config
    if flags.epsilon is not None:
        config = config.with_epsilon(flags.epsilon)
    config = dataclasses.replace(config, seed=flags.seed)  # Of the random actions.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from agents import saved_policy  # TensorFlow: after the flags, and quiet.

    policy = saved_policy.load(*run._replace(config=config))
    settings = protocols.recording_settings(
        config.environment, config.environment_settings(evaluation=True)
    )
    make_environment = registry.make_factory(config.environment, **settings)
    max_frames = protocols.HUMAN_STARTS.max_episode_frames
    assert max_frames is not None
    recorded = [
        start_points.record(
            make_environment,
            policy.actor,
            seeding.derive(flags.seed, "recorded game", index),
            max_steps=max_frames // config.frames_per_step,
        )
        for index in range(flags.episodes)
    ]
    games = [game for game, _ in recorded]
    points = start_points.sample(
        [checksums for _, checksums in recorded],
        flags.num_starts,
        frames_per_step=config.frames_per_step,
        seed=seeding.derive(flags.seed, "start points"),
    )
    for index, point in enumerate(points):
        game = games[point.game]
        environment = make_environment(game.seed)
        start_points.reach(environment, game, point, index)
        environment.close()
    return start_points.StartPoints(
        config.environment,
        settings,
        config.frames_per_step,
        _describe_player(flags.run_dir, policy.agent_steps, config.evaluation_policy),
        games,
        points,
    )


def _describe_player(run_dir: str, agent_steps: int, policy: str) -> str:
    folder = run_folder.RunFolder(run_dir)
    return (
        f"{folder.read_config()['agent']} of the run {folder.path.resolve().name} "
        f"after {agent_steps:,} agent steps, {policy}: a program, not a human"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
