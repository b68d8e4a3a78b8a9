"""Plays the policy that a run has saved, and prints its score.

python launch/evaluate.py --run_dir=runs/gorila_dqn-atari_pong-20260101-120000
"""

import dataclasses
import pathlib
import sys
from collections.abc import Sequence

from agents.dqn.config import DQNConfig
from agents.gorila_dqn.config import GorilaConfig
from launch import command_line
from rlcomponents.evaluation import episodes, normalisation, video
from rlcomponents.runs import checkpoints, run_folder

_CONFIGS: dict[str, type[DQNConfig]] = {"dqn": DQNConfig, "gorila_dqn": GorilaConfig}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationFlags:
    """Flags of an evaluation.

    Attributes:
        run_dir: Folder of the run.
        episodes: Whole games to play.
        video: File (.mp4) for a film of one more game. None: no film.
    """

    run_dir: str | None = None
    episodes: int = 30
    video: str | None = None


def main(argv: Sequence[str]) -> int:
    """Evaluates as the flags say; returns the exit code."""
    flags = command_line.parse(argv, __doc__, run_class=EvaluationFlags).run
    try:
        config, checkpoint = _find(flags)
    except (ValueError, ImportError) as error:
        command_line.refuse(error)
    from agents.dqn import parts, saved_policy  # TensorFlow: after the flags.

    try:
        policy = saved_policy.load(config, checkpoint)
        if flags.video is not None:
            frames = video.record(
                policy.environment,
                policy.actor,
                flags.video,
                frames_per_sec=15 if config.frames_per_step > 1 else 10,
                max_frames=parts.max_evaluation_steps(config),
            )
            print(f"Film of {frames} frames: {flags.video}")
    except (ValueError, ImportError) as error:
        command_line.refuse(error)
    results = episodes.play_episodes(
        policy.environment,
        policy.actor,
        flags.episodes,
        max_episode_steps=parts.max_evaluation_steps(config),
    )
    print(
        f"{config.environment} after {policy.agent_steps:,} agent steps, "
        f"{flags.episodes} episodes, epsilon {config.evaluation_epsilon}:"
    )
    print(f"mean {results.mean:.2f}, standard error {results.standard_error:.2f}")
    normalised = normalisation.human_normalised(config.environment, results.mean)
    if normalised is not None:
        print(f"human-normalised {normalised:.1f} % (0: random, 100: human)")
    return 0


def _find(flags: EvaluationFlags) -> tuple[DQNConfig, pathlib.Path]:
    """Returns the config and the newest checkpoint of the run.

    Raises:
        ValueError: A flag is missing or wrong, or the folder holds no saved policy.
    """
    if flags.run_dir is None:
        raise ValueError("--run_dir is missing: give the folder of a run.")
    if flags.episodes < 1:
        raise ValueError(f"--episodes is {flags.episodes}: it must be at least 1.")
    folder = run_folder.RunFolder(flags.run_dir)
    settings = folder.read_config()
    agent = settings.pop("agent", None)
    if agent not in _CONFIGS:
        raise ValueError(
            f"{folder.config_json} names the agent {agent!r}: this script plays "
            f"{', '.join(sorted(_CONFIGS))}."
        )
    checkpoint = checkpoints.latest(folder.checkpoints)
    if checkpoint is None:
        raise ValueError(
            f"{folder.path} holds no checkpoint yet: the first is saved "
            f"{settings['checkpoint_period_secs']:g} s after training starts."
        )
    return _CONFIGS[agent](**settings), checkpoint


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
