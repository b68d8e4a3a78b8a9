"""Plays the policy that a run has saved, and prints its score.

python launch/evaluate.py --run_dir=runs/a3c-catch-20260101-120000 --greedy
"""

import dataclasses
import os
import sys
from collections.abc import Sequence

from agents import setting_checks
from launch import command_line, saved_runs
from rlcomponents import finite
from rlcomponents.evaluation import normalisation


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationFlags:
    """Flags of an evaluation.

    Attributes:
        run_dir: Folder of the run.
        checkpoint: `newest`, or `best`: the one of the best evaluation in training.
        episodes: Whole games to play.
        greedy: Whether to explore nothing, rather than as the run's settings say.
        video: File (.mp4) for a film of the first game. None: no film.
    """

    run_dir: str | None = None
    checkpoint: str = saved_runs.NEWEST
    episodes: int = 30
    greedy: bool = False
    video: str | None = None


def main(argv: Sequence[str]) -> int:
    """Evaluates as the flags say; returns the exit code."""
    flags = command_line.parse(argv, __doc__, run_class=EvaluationFlags).run
    with command_line.bad_input_refused():
        setting_checks.check(
            flags,
            {
                "checkpoint": setting_checks.one_of(
                    (saved_runs.NEWEST, saved_runs.BEST)
                ),
                "episodes": setting_checks.AT_LEAST_ONE,
            },
        )
        environment = saved_runs.environment_name(flags.run_dir)
    with command_line.bad_input_refused(environment):
        run = saved_runs.find(
            flags.run_dir, checkpoint=flags.checkpoint, greedy=flags.greedy
        )
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        from agents import saved_policy  # TensorFlow: after the flags, and quiet.

        policy = saved_policy.load(*run)
        if flags.video is not None:
            saved_policy.load(*run).film(flags.video)  # Leaves the score as it is.
            print(f"Film of the first game: {flags.video}")
    try:
        results = policy.play(flags.episodes)
    except finite.NonFiniteError as error:
        command_line.refuse(error)
    print(
        f"{environment} after {policy.agent_steps:,} agent steps, {flags.episodes} "
        f"episodes, {run.config.evaluation_policy}:\n"
        f"mean {results.mean:.2f}, standard error {results.standard_error:.2f}"
    )
    normalised = normalisation.human_normalised(environment, results.mean)
    if normalised is not None:
        print(f"human-normalised {normalised:.1f} % (0: random, 100: human)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
