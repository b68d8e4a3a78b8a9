"""Trains A3C: asynchronous actor-learners on parameters that they share.

python launch/a3c.py --environment=atari:pong --num_workers=2 --envs_per_worker=8
python launch/a3c.py --environment=catch:blind --recurrent
"""

import sys
from collections.abc import Sequence

from agents.a3c import config as a3c_config
from agents.a3c import program
from launch import training
from rlcomponents.launching import launcher


def main(argv: Sequence[str]) -> int:
    """Trains as the flags say; returns the exit code."""
    return training.main(
        argv,
        agent="a3c",
        description=__doc__,
        config_class=a3c_config.A3CConfig,
        build_program=program.build_program,
    )


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
