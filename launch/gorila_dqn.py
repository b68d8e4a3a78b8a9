"""Trains Gorila DQN: parallel actors and learners on a sharded parameter server.

python launch/gorila_dqn.py --environment=atari:pong --num_bundles=4
python launch/gorila_dqn.py --mode=central --num_actors=4 --num_learners=2
"""

import sys
from collections.abc import Sequence

from agents.gorila_dqn import config as gorila_config
from agents.gorila_dqn import program
from launch import training
from rlcomponents.launching import launcher


def main(argv: Sequence[str]) -> int:
    """Trains as the flags say; returns the exit code."""
    return training.main(
        argv,
        agent="gorila_dqn",
        description=__doc__,
        config_class=gorila_config.GorilaConfig,
        build_program=program.build_program,
    )


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
