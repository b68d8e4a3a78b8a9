"""Settings of the asynchronous value methods, and their presets."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from agents import setting_checks
from agents.asynchronous.config import AsyncConfig

ALGORITHMS = ("one_step_q", "one_step_sarsa", "n_step_q")
"""Values of `algorithm`."""

_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "atari": {"network": "nips_dqn"},
    "minatar": {
        "max_steps": 1_000_000,
        "max_abs_reward": None,
        "envs_per_worker": 8,
        "learning_rate": 3e-3,
        "optimiser_epsilon": 0.64,
        "max_gradient_norm": 320.0,
        "target_period_steps": 4_000,
        "epsilon_horizon_steps": 100_000,
        "evaluation_period_steps": 50_000,
        "max_evaluation_frames": 10_000,
        "checkpoint_period_secs": 30.0,
    },
    "catch": {
        "max_steps": 60_000,
        "max_abs_reward": None,
        "learning_rate": 3e-3,
        "optimiser_epsilon": 0.01,
        "target_period_steps": 500,
        "epsilon_horizon_steps": 15_000,
        "evaluation_epsilon": 0.0,
        "evaluation_period_steps": 10_000,
        "evaluation_episodes": 20,
        "max_evaluation_frames": 1_000,
        "checkpoint_period_secs": 10.0,
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class AsyncQConfig(AsyncConfig):
    """Settings of one run; the rest are `AsyncConfig`'s and `RunConfig`'s.

    Attributes:
        algorithm: `one_step_q`, `one_step_sarsa` or `n_step_q`.
        target_period_steps: Agent steps of all workers between copies to the target
            network.
        initial_epsilon: Exploration at the start.
        final_epsilon: Exploration in the end. None: each worker draws its own, 0.1,
            0.01 or 0.5 with probabilities 0.4, 0.3 and 0.3, as in the paper.
        epsilon_horizon_steps: Agent steps of all workers over which it is annealed.
        evaluation_epsilon: Exploration while evaluating.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = _PRESETS

    FIXED_SETTINGS: ClassVar[tuple[str, ...]] = (
        *AsyncConfig.FIXED_SETTINGS,
        "algorithm",
    )

    algorithm: str = "n_step_q"
    target_period_steps: int = 10_000
    initial_epsilon: float = 1.0
    final_epsilon: float | None = None
    epsilon_horizon_steps: int = 1_000_000
    evaluation_epsilon: float = 0.05

    @property
    def target_copy_period_steps(self) -> int:
        """See `AsyncConfig`."""
        return self.target_period_steps

    @property
    def evaluation_policy(self) -> str:
        """See `RunConfig`."""
        return f"epsilon {self.evaluation_epsilon}"

    def greedy(self) -> "AsyncQConfig":
        """See `RunConfig`."""
        return dataclasses.replace(self, evaluation_epsilon=0.0)

    def limits(self) -> dict[str, setting_checks.Limit]:
        """See `RunConfig`."""
        return {
            **super().limits(),
            "algorithm": setting_checks.one_of(ALGORITHMS),
            "target_period_steps": setting_checks.AT_LEAST_ONE,
            "epsilon_horizon_steps": setting_checks.NOT_NEGATIVE,
            "initial_epsilon": setting_checks.FRACTION,
            "final_epsilon": setting_checks.FRACTION,
            "evaluation_epsilon": setting_checks.FRACTION,
        }
