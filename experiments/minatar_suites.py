"""All agents on MinAtar: the suites that `experiments/headlines.py` reads.

    python experiments/minatar_suites.py
    python experiments/minatar_suites.py --suites=dqn,gorila_dqn --seeds=5

Each suite is one of `launch/suite.py`, with what each run costs in CPU and memory.
A3C and n-step Q play all five games, the others three of them, in fewer steps: they
take more time for each.
"""

import sys
from collections.abc import Sequence

from experiments import suites
from rlcomponents.launching import launcher

_THREE = "minatar:breakout,minatar:asterix,minatar:space_invaders"
_FIVE = {"games": "minatar", "max_steps": 1_000_000, "evaluation_period_steps": 100_000}
_SHORT = {"games": _THREE, "max_steps": 300_000, "evaluation_period_steps": 30_000}

SUITES: suites.Suites = {
    "a3c": ("a3c", _FIVE),
    "n_step_q": ("async_q", {"algorithm": "n_step_q", **_FIVE}),
    "one_step_q": ("async_q", {"algorithm": "one_step_q", **_SHORT}),
    "one_step_sarsa": ("async_q", {"algorithm": "one_step_sarsa", **_SHORT}),
    "dqn": ("dqn", _SHORT),
    "gorila_dqn": ("gorila_dqn", {"num_bundles": 2, **_SHORT}),
}
"""Agent and settings of each suite, by name; the cheap ones first."""


def main(argv: Sequence[str]) -> int:
    """Runs the suites; returns the exit code."""
    return suites.main(__file__, argv, str(__doc__), SUITES)


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
