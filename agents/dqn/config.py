"""Settings of DQN, and the presets by environment suite.

`agents/gorila_dqn` builds on these: Gorila is DQN, distributed. README.md of each
agent says where every value comes from.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from rlcomponents import schedules
from rlcomponents.environments import registry
from rlcomponents.replay import limits as replay_limits

OPTIMISERS = ("adagrad", "adam", "momentum", "rmsprop", "sgd")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DQNConfig:
    """Settings of one run. Plain values, so that it crosses processes and is logged.

    Names carry units: `_steps` agent steps (one action each), `_updates` gradients
    applied by the parameter store, `_items` transitions in replay.

    Attributes:
        environment: `suite:name`, or `module:package.module:factory` for your own.
        seed: Seed of the run; those of every node derive from it.
        max_steps: Agent steps of all actors together, after which the run ends.
        max_abs_reward: Rewards are clipped to this size for learning; scores are
            not. None: as they are.
        terminal_on_life_loss: Whether losing a life ends an episode for learning
            (Atari only). None: the suite's default.
        sticky_action_probability: Chance that the environment repeats the previous
            action (Atari, MinAtar). None: the suite's default.
        full_action_set: Whether Atari offers all 18 actions rather than the game's
            own. None: the suite's default.
        network: `auto`, `nature_dqn`, `nips_dqn`, `minatar` or `mlp`.
        dueling: Whether the head is the dueling one (Wang et al. 2016).
        double_q: Whether the online network picks the action whose target value is
            bootstrapped from (van Hasselt et al. 2016).
        n_step: Rewards summed before bootstrapping. 1 is DQN.
        discount: Per agent step.
        batch_size: Transitions in one gradient.
        steps_per_update: Agent steps for each gradient.
        optimiser: Rule that the store applies.
        learning_rate: Step size at the start.
        final_learning_rate_fraction: Part of it left at `max_steps`, reached linearly.
        adagrad_initial_accumulator: Where AdaGrad's sum of squares starts.
        optimiser_decay: Decay of RMSProp's mean of squares, or of momentum. None: the
            rule's default.
        optimiser_epsilon: Added inside RMSProp's root, or to Adam's and AdaGrad's.
            None: the rule's default.
        max_abs_td_error: Size at which the error in the gradient is clipped. None: not.
        max_gradient_norm: Norm to which a gradient is scaled down. None: not.
        target_period_updates: Updates between copies to the target network.
        initial_epsilon: Exploration at the start.
        final_epsilon: Exploration in the end.
        epsilon_horizon_updates: Updates over which it goes from one to the other.
        min_replay_items: Transitions in one replay before sampling starts; capped so
            that all replays together need at most a tenth of `max_steps`.
        max_replay_items: Transitions which one replay keeps.
        evaluation_epsilon: Exploration while evaluating.
        evaluation_period_steps: Agent steps from one evaluation to the next.
        evaluation_episodes: Episodes of each evaluation while training.
        final_evaluation_episodes: Episodes of the evaluation at the end.
        max_evaluation_frames: Frames after which an evaluation episode is cut.
        checkpoint_period_secs: Seconds from one checkpoint to the next.
    """

    environment: str = "atari:pong"
    seed: int = 0
    max_steps: int = 50_000_000
    max_abs_reward: float | None = 1.0
    terminal_on_life_loss: bool | None = None
    sticky_action_probability: float | None = None
    full_action_set: bool | None = None
    network: str = "auto"
    dueling: bool = False
    double_q: bool = False
    n_step: int = 1
    discount: float = 0.99
    batch_size: int = 32
    steps_per_update: int = 4
    optimiser: str = "adagrad"
    learning_rate: float = 0.01
    final_learning_rate_fraction: float = 1.0
    adagrad_initial_accumulator: float = 0.1
    optimiser_decay: float | None = None
    optimiser_epsilon: float | None = None
    max_abs_td_error: float | None = 1.0
    max_gradient_norm: float | None = None
    target_period_updates: int = 10_000
    initial_epsilon: float = 1.0
    final_epsilon: float = 0.1
    epsilon_horizon_updates: int = 1_000_000
    min_replay_items: int = 50_000
    max_replay_items: int = 1_000_000
    evaluation_epsilon: float = 0.05
    evaluation_period_steps: int = 250_000
    evaluation_episodes: int = 10
    final_evaluation_episodes: int = 30
    max_evaluation_frames: int = 18_000
    checkpoint_period_secs: float = 60.0

    def __post_init__(self) -> None:
        """Refuses values with which no run could work.

        Raises:
            ValueError: In one sentence, naming the value, what is allowed, and why.
        """
        for name in _AT_LEAST_ONE:
            _require(self, name, getattr(self, name) >= 1, "at least 1")
        for name in _NOT_NEGATIVE:
            _require(self, name, getattr(self, name) >= 0, "0 or more")
        for name in _POSITIVE:
            value = getattr(self, name)
            _require(self, name, value is None or value > 0, "above 0")
        for name in _PROBABILITIES:
            value = getattr(self, name)
            _require(self, name, value is None or 0 <= value <= 1, "between 0 and 1")
        if self.optimiser not in OPTIMISERS:
            raise ValueError(
                f"optimiser is {self.optimiser!r}: it must be one of "
                f"{', '.join(OPTIMISERS)}."
            )
        self.replay_limits()
        self.make_environment_factory()

    @property
    def frames_per_step(self) -> int:
        """Environment frames of one agent step."""
        return registry.frames_per_step(self.environment)

    def environment_settings(self, *, evaluation: bool = False) -> dict[str, Any]:
        """Returns the environment's settings that differ from its suite's defaults."""
        chosen = {
            "terminal_on_life_loss": self.terminal_on_life_loss,
            "sticky_action_probability": self.sticky_action_probability,
            "full_action_set": self.full_action_set,
        }
        settings = {name: value for name, value in chosen.items() if value is not None}
        if evaluation:
            # Scores are counted over whole games.
            settings.pop("terminal_on_life_loss", None)
        return settings

    def make_environment_factory(self, *, evaluation: bool = False) -> Any:
        """Returns the factory of this run's environment; see `registry`."""
        return registry.make_factory(
            self.environment, **self.environment_settings(evaluation=evaluation)
        )

    @property
    def num_replays(self) -> int:
        """Replays of the whole program."""
        return 1

    @property
    def samples_per_insert(self) -> float | None:
        """Ratio to which replay itself holds actors and learners. None: to none.

        A single thread that acts and learns keeps the ratio by its own steps.
        """
        return None

    def replay_limits(self) -> replay_limits.ReplayLimits:
        """Returns the limits of each replay.

        Raises:
            ValueError: They would leave learners or actors waiting for ever.
        """
        cap = self.max_steps // 10 // self.num_replays
        return replay_limits.ReplayLimits(
            max_items=self.max_replay_items,
            min_items=max(1, min(self.min_replay_items, cap)),
            batch_size=self.batch_size,
            samples_per_insert=self.samples_per_insert,
            one_thread=self.samples_per_insert is None,
        )

    def replay_note(self) -> str | None:
        """Says in one line that the minimum replay fill was capped, where it was."""
        min_items = self.replay_limits().min_items
        if min_items >= self.min_replay_items:
            return None
        return (
            f"Learning starts at {min_items:,} transitions in each replay instead of "
            f"{self.min_replay_items:,}: all replays together are capped at a tenth of "
            f"max_steps ({self.max_steps:,})."
        )

    def epsilon_schedule(self) -> schedules.Linear:
        """Returns exploration against the count of global updates."""
        return schedules.Linear(
            self.initial_epsilon, self.final_epsilon, self.epsilon_horizon_updates
        )


PRESETS: dict[str, dict[str, Any]] = {
    # Nature DQN's and Gorila's own values; also the defaults above.
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
"""Settings by environment suite that differ from the defaults."""

Config = TypeVar("Config", bound=DQNConfig)


def make_config(
    config_class: type[Config],
    overrides: Mapping[str, Any],
    *,
    preset: str = "auto",
    presets: Mapping[str, Mapping[str, Any]] = PRESETS,
) -> Config:
    """Returns a config: the class's defaults, then the preset, then the overrides.

    Args:
        config_class: `DQNConfig` or a subclass.
        overrides: Settings by name.
        preset: A key of `presets`, or `auto`: the one named like the environment's
            suite, and `minatar` (values for small environments) for your own.
        presets: Settings by preset.

    Raises:
        ValueError: Unknown preset, or settings that cannot work.
    """
    if preset == "auto":
        default = config_class.__dataclass_fields__["environment"].default
        suite = registry.suite(overrides.get("environment", default))
        preset = suite if suite in presets else "minatar"
    if preset not in presets:
        raise ValueError(
            f"preset is {preset!r}: it must be auto, {', '.join(sorted(presets))}."
        )
    return config_class(**{**presets[preset], **overrides})


_AT_LEAST_ONE = (
    "max_steps",
    "n_step",
    "batch_size",
    "steps_per_update",
    "target_period_updates",
    "min_replay_items",
    "max_replay_items",
    "evaluation_period_steps",
    "evaluation_episodes",
    "final_evaluation_episodes",
    "max_evaluation_frames",
)
_NOT_NEGATIVE = (
    "seed",
    "epsilon_horizon_updates",
    "adagrad_initial_accumulator",
)
_POSITIVE = (
    "learning_rate",
    "max_abs_reward",
    "max_abs_td_error",
    "max_gradient_norm",
    "optimiser_epsilon",
    "checkpoint_period_secs",
)
_PROBABILITIES = (
    "discount",
    "initial_epsilon",
    "final_epsilon",
    "evaluation_epsilon",
    "sticky_action_probability",
    "optimiser_decay",
    "final_learning_rate_fraction",
)


def _require(config: DQNConfig, name: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {getattr(config, name)}: it must be {allowed}.")
