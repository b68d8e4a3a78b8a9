"""Settings of DQN, and the presets by environment suite.

`agents/gorila_dqn` builds on these: Gorila is DQN, distributed. README.md of each
agent says where every value comes from.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from agents import run_config, setting_checks
from rlcomponents import schedules
from rlcomponents.replay import limits as replay_limits

REPLAYS = ("auto", "memory", "reverb")
"""Values of `replay`."""

_PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Nature DQN's own values, which are the defaults below; Gorila has its own in place
    # of some.
    "atari": {},
    "minatar": {
        "max_steps": 1_000_000,
        "max_abs_reward": None,
        "steps_per_update": 1,
        "learning_rate": 0.05,
        "target_period_updates": 1_000,
        "epsilon_horizon_updates": 12_000,
        "min_replay_items": 1_000,
        "max_replay_items": 100_000,
        "evaluation_period_steps": 10_000,
        "max_evaluation_frames": 10_000,
        "checkpoint_period_secs": 30.0,
    },
    "catch": {
        "max_steps": 10_000,
        "max_abs_reward": None,
        "steps_per_update": 1,
        "learning_rate": 0.05,
        "target_period_updates": 100,
        "epsilon_horizon_updates": 2_000,
        "min_replay_items": 200,
        "max_replay_items": 20_000,
        "evaluation_epsilon": 0.0,
        "evaluation_period_steps": 2_000,
        "evaluation_episodes": 20,
        "max_evaluation_frames": 1_000,
        "checkpoint_period_secs": 10.0,
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DQNConfig(run_config.RunConfig):
    """Settings of one run of DQN; those that all agents have are `RunConfig`'s.

    Attributes:
        dueling: Whether the head is the dueling one (Wang et al. 2016).
        double_q: Whether the online network picks the action whose target value is
            bootstrapped from (van Hasselt et al. 2016).
        n_step: Rewards summed before bootstrapping. 1 is DQN.
        batch_size: Transitions in one gradient.
        steps_per_update: Agent steps for each gradient.
        max_abs_td_error: Size at which the error in the gradient is clipped. None: not.
        target_period_updates: Updates between copies to the target network.
        initial_epsilon: Exploration at the start.
        final_epsilon: Exploration in the end.
        epsilon_horizon_updates: Updates over which it goes from one to the other.
        min_replay_items: Transitions in one replay before sampling, and so learning,
            starts; capped so that all replays together need at most a tenth of
            `max_steps`.
        max_replay_items: Transitions which one replay keeps (buffer size).
        replay: `memory`: transitions lie as they are in the memory of the process that
            acts and learns. `reverb`: compressed, in a Reverb server. `auto`: memory
            where one process acts and learns, reverb where they are apart (Gorila's
            central mode).
        replay_checkpoint_period_secs: Seconds from one save of what a replay holds to
            the next; one more is made at a clean end. None: replay is never saved.
        evaluation_epsilon: Exploration while evaluating.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = _PRESETS

    FIXED_SETTINGS: ClassVar[tuple[str, ...]] = (
        *run_config.RunConfig.FIXED_SETTINGS,
        "discount",  # This and the next two are in every transition in replay.
        "max_abs_reward",
        "n_step",
        "dueling",
        "replay",
    )

    dueling: bool = False
    double_q: bool = False
    n_step: int = 1
    batch_size: int = 32
    steps_per_update: int = 4
    max_abs_td_error: float | None = 1.0
    target_period_updates: int = 10_000
    initial_epsilon: float = 1.0
    final_epsilon: float = 0.1
    epsilon_horizon_updates: int = 250_000
    min_replay_items: int = 50_000
    max_replay_items: int = 1_000_000
    replay: str = "auto"
    replay_checkpoint_period_secs: float | None = 1_800.0
    evaluation_epsilon: float = 0.05

    def __post_init__(self) -> None:
        """Refuses values with which no run could work. See `RunConfig`."""
        super().__post_init__()
        if self.steps_per_update > self.max_steps:
            raise ValueError(
                f"steps_per_update is {self.steps_per_update}: it must be at most "
                f"max_steps ({self.max_steps}), or nothing is learned."
            )
        self._check_replay()
        first_steps = self.first_update_steps
        first_steps += -first_steps % self.steps_per_update
        if first_steps > self.max_steps:
            raise ValueError(
                f"n_step is {self.n_step}: the first update, once replay has its "
                f"minimum of {self._capped_min_replay_items()} and at a multiple of "
                f"steps_per_update ({self.steps_per_update}), would be at step "
                f"{first_steps}, beyond max_steps ({self.max_steps}), and nothing is "
                "learned; lower n_step, or raise max_steps."
            )

    @property
    def evaluation_policy(self) -> str:
        """See `RunConfig`."""
        return f"epsilon {self.evaluation_epsilon}"

    def greedy(self) -> "DQNConfig":
        """See `RunConfig`."""
        return dataclasses.replace(self, evaluation_epsilon=0.0)

    @property
    def num_replays(self) -> int:
        """Replays of the whole program."""
        return 1

    @property
    def replay_kind(self) -> str:
        """What `replay` comes to: `memory` or `reverb`."""
        return "memory" if self.replay == "auto" else self.replay

    @property
    def first_update_steps(self) -> int:
        """Steps of one bundle before its first update.

        Replay has its minimum fill then: the first transitions are complete
        `n_step - 1` steps after they began.
        """
        return self._capped_min_replay_items() + self.n_step

    @property
    def samples_per_insert(self) -> float | None:
        """Ratio to which replay itself holds actors and learners. None: to none.

        A single thread that acts and learns keeps the ratio by its own steps.
        """
        return None

    @property
    def replay_capacity_items(self) -> int:
        """See `RunConfig`."""
        return self.num_replays * self.max_replay_items

    def replay_limits(self) -> replay_limits.ReplayLimits:
        """Returns the limits of each replay.

        Raises:
            ValueError: They would leave learners or actors waiting for ever.
        """
        return replay_limits.ReplayLimits(
            max_items=self.max_replay_items,
            min_items=self._capped_min_replay_items(),
            batch_size=self.batch_size,
            samples_per_insert=self.samples_per_insert,
        )

    @property
    def replay_states(self) -> tuple[str, ...]:
        """See `RunConfig`."""
        return ("dqn-0-replay",)

    def notes(self) -> list[str]:
        """Says that the minimum replay fill was capped, where it was."""
        min_items = self.replay_limits().min_items
        if min_items >= self.min_replay_items:
            return []
        return [
            f"Learning starts at {min_items:,} transitions in each replay instead of "
            f"{self.min_replay_items:,}: all replays together are capped at a tenth of "
            f"max_steps ({self.max_steps:,})."
        ]

    def limits(self) -> dict[str, setting_checks.Limit]:
        """See `RunConfig`."""
        return {**super().limits(), **_LIMITS}

    def epsilon_schedule(self) -> schedules.Linear:
        """Returns exploration against the count of global updates."""
        return schedules.Linear(
            self.initial_epsilon, self.final_epsilon, self.epsilon_horizon_updates
        )

    def _capped_min_replay_items(self) -> int:
        cap = self.max_steps // 10 // self.num_replays
        return max(1, min(self.min_replay_items, cap))

    def _check_replay(self) -> None:
        """Refuses what `replay_limits` would, by the names that settings have here."""
        if self.batch_size > self.max_replay_items:
            raise ValueError(
                f"batch_size is {self.batch_size}: it must be at most max_replay_items "
                f"({self.max_replay_items}), or replay never holds a batch."
            )
        min_items = self._capped_min_replay_items()
        if min_items > self.max_replay_items:
            raise ValueError(
                f"min_replay_items is {min_items}: it must be at most max_replay_items "
                f"({self.max_replay_items}), or replay never fills up to it and "
                "nothing is learned."
            )
        self.replay_limits()


_LIMITS: Mapping[str, setting_checks.Limit] = {
    "n_step": setting_checks.AT_LEAST_ONE,
    "batch_size": setting_checks.AT_LEAST_ONE,
    "steps_per_update": setting_checks.AT_LEAST_ONE,
    "target_period_updates": setting_checks.AT_LEAST_ONE,
    "min_replay_items": setting_checks.AT_LEAST_ONE,
    "max_replay_items": setting_checks.AT_LEAST_ONE,
    "epsilon_horizon_updates": setting_checks.NOT_NEGATIVE,
    "max_abs_td_error": setting_checks.POSITIVE,
    "initial_epsilon": setting_checks.FRACTION,
    "final_epsilon": setting_checks.FRACTION,
    "evaluation_epsilon": setting_checks.FRACTION,
    "replay": setting_checks.one_of(REPLAYS),
    "replay_checkpoint_period_secs": setting_checks.POSITIVE,
}
