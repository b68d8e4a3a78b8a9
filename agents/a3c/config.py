"""Settings of A3C, and its presets by environment suite."""

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from agents import setting_checks
from agents.asynchronous.config import AsyncConfig
from rlcomponents import specs
from rlcomponents.networks import kinds

_CATCH: Mapping[str, Any] = {
    "max_steps": 60_000,
    "max_abs_reward": None,
    "learning_rate": 3e-3,
    "optimiser_epsilon": 0.01,
    "evaluation_period_steps": 10_000,
    "evaluation_episodes": 20,
    "max_evaluation_frames": 1_000,
    "checkpoint_period_secs": 10.0,
}

_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "atari": {"network": "nips_dqn"},
    "minatar": {
        "max_steps": 2_000_000,
        "max_abs_reward": None,
        "envs_per_worker": 8,
        "learning_rate": 3e-3,
        "optimiser_epsilon": 0.64,
        "max_gradient_norm": 320.0,
        "evaluation_period_steps": 50_000,
        "max_evaluation_frames": 10_000,
        "checkpoint_period_secs": 30.0,
    },
    "catch": _CATCH,
    "catch:blind": {
        **_CATCH,
        "max_steps": 800_000,
        "envs_per_worker": 16,
        "t_max_steps": 18,  # Two games: gradients have to get from catch to cue.
        "lstm_size": 64,
        "optimiser_epsilon": 0.0256,
        "max_gradient_norm": 640.0,
        "evaluation_period_steps": 50_000,
    },
    "control": {
        "max_steps": 600_000,
        "max_abs_reward": None,
        "reward_scale": 0.1,
        "envs_per_worker": 16,
        "t_max_steps": 20,
        # What there is to see after a fall, mostly nothing, would drown the rest.
        "max_training_episode_steps": 200,
        "learning_rate": 5e-4,
        "optimiser_epsilon": 0.0256,
        "max_gradient_norm": 160.0,
        "entropy_cost": 0.003,
        "evaluation_period_steps": 100_000,
        "evaluation_episodes": 5,
        "final_evaluation_episodes": 10,
        "checkpoint_period_secs": 30.0,
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class A3CConfig(AsyncConfig):
    """Settings of one run of A3C; the rest are `AsyncConfig`'s and `RunConfig`'s.

    Attributes:
        recurrent: Whether LSTM cells follow the last hidden layer.
        lstm_size: How many. None: 256, or 128 for continuous actions, as in the paper.
        entropy_cost: Weight of the policy's negative entropy, beta.
        value_coefficient: Weight of (R - V)^2.
        whole_episodes: Whether a rollout is a whole episode, without bootstrapping, as
            the paper has it for continuous actions.
        greedy_evaluation: Whether evaluation takes the likeliest action rather than
            drawing one.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = _PRESETS

    FIXED_SETTINGS: ClassVar[tuple[str, ...]] = (
        *AsyncConfig.FIXED_SETTINGS,
        "recurrent",
        "lstm_size",
    )

    recurrent: bool = False
    lstm_size: int | None = None
    entropy_cost: float = 0.01
    value_coefficient: float = 0.5
    whole_episodes: bool = False
    greedy_evaluation: bool = False

    def __post_init__(self) -> None:
        """Refuses values with which no run could work. See `RunConfig`."""
        super().__post_init__()
        if self.whole_episodes and self.envs_per_worker > 1:
            raise ValueError(
                f"envs_per_worker is {self.envs_per_worker}: with whole_episodes it "
                "must be 1, since episodes of several environments end apart."
            )

    @property
    def max_rollout_steps(self) -> int:
        """See `AsyncConfig`."""
        return sys.maxsize if self.whole_episodes else self.t_max_steps

    @property
    def evaluation_policy(self) -> str:
        """See `RunConfig`."""
        return "likeliest actions" if self.greedy_evaluation else "drawn actions"

    def greedy(self) -> "A3CConfig":
        """See `RunConfig`."""
        return dataclasses.replace(self, greedy_evaluation=True)

    def check_network(self, kind: str, environment_spec: specs.EnvironmentSpec) -> None:
        """See `RunConfig`."""
        kinds.check_actor_critic(kind, environment_spec)

    def limits(self) -> dict[str, setting_checks.Limit]:
        """See `RunConfig`."""
        return {
            **super().limits(),
            "lstm_size": setting_checks.AT_LEAST_ONE,
            "entropy_cost": setting_checks.NOT_NEGATIVE,
            "value_coefficient": setting_checks.NOT_NEGATIVE,
        }

    def ignored_settings(self) -> dict[str, str]:
        """See `RunConfig`; also those of cells and rollouts that there are not."""
        ignored = super().ignored_settings()
        if not self.recurrent:
            ignored["lstm_size"] = "recurrent=true"
        if self.whole_episodes:
            ignored["t_max_steps"] = "whole_episodes=false"
        return ignored
