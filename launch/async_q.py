"""Trains asynchronous one-step Q, one-step Sarsa or n-step Q.

python launch/async_q.py --algorithm=one_step_sarsa --environment=catch
"""

import sys
from collections.abc import Sequence

from agents.async_q import config as async_q_config
from agents.async_q import program
from launch import training
from rlcomponents.launching import launcher


def main(argv: Sequence[str]) -> int:
    """Trains as the flags say; returns the exit code."""
    return training.main(
        argv,
        agent="async_q",
        description=__doc__,
        config_class=async_q_config.AsyncQConfig,
        build_program=program.build_program,
    )


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
