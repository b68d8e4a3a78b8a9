"""Trains DQN in one process: the baseline of Gorila, from the same components.

python launch/dqn.py --environment=minatar:breakout
"""

import sys
from collections.abc import Sequence

from agents.dqn import config as dqn_config
from agents.dqn import program
from launch import training
from rlcomponents.launching import launcher


def main(argv: Sequence[str]) -> int:
    """Trains as the flags say; returns the exit code."""
    return training.main(
        argv,
        agent="dqn",
        description=__doc__,
        config_class=dqn_config.DQNConfig,
        build_program=program.build_program,
    )


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
