"""Trains Gorila DQN on MinAtar Breakout for four minutes, and shows what it learned.

Two bundles on two cores; then 30 episodes of the learned policy beside 30 random ones.
"""

import sys

from agents.dqn import config as dqn_config
from launch import gorila_dqn
from rlcomponents.environments import registry
from rlcomponents.evaluation import episodes, random_policy
from rlcomponents.launching import launcher
from rlcomponents.runs import curve, run_folder, summary

ENVIRONMENT = "minatar:breakout"
MAX_STEPS = 50_000
NUM_EPISODES = 30


def main() -> int:
    """Runs the demonstration; returns the exit code of the training."""
    folder = run_folder.RunFolder(run_folder.default_path("demo", ENVIRONMENT))
    exit_code = gorila_dqn.main(
        [
            f"--environment={ENVIRONMENT}",
            f"--max_steps={MAX_STEPS}",
            f"--final_evaluation_episodes={NUM_EPISODES}",
            f"--run_dir={folder.path}",
            "--num_bundles=2",
            *sys.argv[1:],
        ]
    )
    if exit_code != 0:
        return exit_code
    random_return = _random_return()
    learned = summary.read(folder.summary_json)
    picture = curve.plot(folder, random_return=random_return)
    print(
        f"{ENVIRONMENT}: a random policy scores {random_return:.2f}; after "
        f"{learned.agent_steps:,} steps the learned one scores "
        f"{learned.evaluation_return:.2f} (means of {NUM_EPISODES} episodes)."
    )
    print(f"The picture: {picture}")
    print(f"Play it again: .venv/bin/python launch/evaluate.py --run_dir={folder.path}")
    return 0


def _random_return() -> float:
    environment = registry.make_factory(ENVIRONMENT)(0)
    actor = random_policy.RandomActor(environment.action_spec(), seed=0)
    results = episodes.play_episodes(
        environment,
        actor,
        NUM_EPISODES,
        max_episode_steps=dqn_config.PRESETS["minatar"]["max_evaluation_frames"],
    )
    return results.mean


if __name__ == "__main__":
    launcher.exit_process(main())
