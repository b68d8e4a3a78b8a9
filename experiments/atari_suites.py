"""Long runs on Atari: A3C on Pong and on Breakout, Gorila DQN on Pong.

    python experiments/atari_suites.py
    python experiments/atari_suites.py --suites=a3c_pong

Hours each on two cores: stop them and go on as you like. A3C has the paper's
constants, but two workers with 16 environments each for its 16 threads with one.
"""

import dataclasses
import sys
from collections.abc import Sequence

from experiments import suites
from rlcomponents.launching import launcher

_A3C = {"envs_per_worker": 16, "evaluation_period_steps": 500_000}
_GORILA = {"num_bundles": 2, "evaluation_period_steps": 50_000}

SUITES: suites.Suites = {
    "a3c_pong": ("a3c", {"games": "pong", "max_steps": 16_000_000, **_A3C}),
    "a3c_breakout": ("a3c", {"games": "breakout", "max_steps": 5_000_000, **_A3C}),
    "gorila_dqn_pong": (
        "gorila_dqn",
        {"games": "pong", "max_steps": 500_000, **_GORILA},
    ),
}
"""Agent and settings of each suite, by name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AtariFlags(suites.SuitesFlags):
    """Flags of this script: those of `SuitesFlags`, with one seed."""

    seeds: int = 1


def main(argv: Sequence[str]) -> int:
    """Runs the suites; returns the exit code."""
    return suites.main(__file__, argv, str(__doc__), SUITES, AtariFlags)


if __name__ == "__main__":
    launcher.exit_process(main(sys.argv[1:]))
