"""Trains Gorila DQN on MinAtar Breakout for two minutes, and shows what it learned.

Two bundles on two cores; then 30 episodes of the learned policy beside 30 random ones.
"""

import dataclasses
import sys
from collections.abc import Sequence

from launch import command_line, gorila_dqn, saved_runs
from rlcomponents.evaluation import episodes, random_policy
from rlcomponents.launching import launcher
from rlcomponents.runs import curve, run_folder, summary

ENVIRONMENT = "minatar:breakout"
"""The game that is shown."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemoFlags:
    """Flags of the demonstration.

    Attributes:
        max_steps: Agent steps to train for.
    """

    max_steps: int = 50_000


def main(argv: Sequence[str]) -> int:
    """Runs the demonstration; returns the exit code of the training."""
    flags = command_line.parse(argv, __doc__, run_class=DemoFlags).run
    folder = run_folder.RunFolder(run_folder.default_path("demo", ENVIRONMENT))
    settings = [f"--environment={ENVIRONMENT}", "--num_bundles=2"]
    run = [f"--max_steps={flags.max_steps}", f"--run_dir={folder.path}"]
    exit_code = gorila_dqn.main([*settings, *run])
    if exit_code != 0:
        return exit_code
    config = saved_runs.find(folder.path).config
    environment = config.make_environment_factory(evaluation=True)(config.seed)
    by_chance = episodes.play_episodes(
        environment,
        random_policy.RandomActor(environment.action_spec(), config.seed),
        config.final_evaluation_episodes,
        max_episode_steps=config.max_evaluation_steps,
    )
    learned = summary.read(folder.summary_json)
    print(
        f"{ENVIRONMENT}: a random policy scores {by_chance.mean:.2f}; after "
        f"{learned.agent_steps:,} steps the learned one scores "
        f"{learned.evaluation_return:.2f} (means of {learned.evaluation_episodes} "
        "episodes)."
    )
    print(f"The picture: {curve.plot(folder, random_return=by_chance.mean)}")
    print(f"Play it again: .venv/bin/python launch/evaluate.py --run_dir={folder.path}")
    return 0


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
