"""Settings of DQN, and the presets by environment suite.

`agents/gorila_dqn` builds on these: Gorila is DQN, distributed. README.md of each
agent says where every value comes from.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from agents.dqn import setting_checks
from rlcomponents import core, schedules, specs
from rlcomponents.environments import registry
from rlcomponents.networks import kinds
from rlcomponents.replay import limits as replay_limits

NETWORKS = ("auto", *kinds.KINDS)
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
            ImportError: The environment's module or its packages are missing.
        """
        setting_checks.check(self, self.limits())
        for name in ("n_step", "steps_per_update"):
            if getattr(self, name) > self.max_steps:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: it must be at most max_steps "
                    f"({self.max_steps}), or nothing is learned."
                )
        self._check_replay()
        self.make_environment_factory()

    @property
    def frames_per_step(self) -> int:
        """Environment frames of one agent step."""
        return registry.frames_per_step(self.environment)

    @property
    def max_evaluation_steps(self) -> int:
        """Agent steps after which an evaluation episode is cut."""
        return max(1, self.max_evaluation_frames // self.frames_per_step)

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

    def make_environment_factory(
        self, *, evaluation: bool = False
    ) -> core.EnvironmentFactory:
        """Returns the factory of this run's environment; see `registry`."""
        return registry.make_factory(
            self.environment, **self.environment_settings(evaluation=evaluation)
        )

    def network_kind(self, environment_spec: specs.EnvironmentSpec) -> str:
        """Returns the kind of network that `network` comes to in an environment.

        Raises:
            ValueError: It does not fit the environment.
        """
        kind = self.network
        if kind == "auto":
            kind = kinds.default_kind(environment_spec)
        kinds.check(kind, environment_spec)
        return kind

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
        return replay_limits.ReplayLimits(
            max_items=self.max_replay_items,
            min_items=self._capped_min_replay_items(),
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

    def limits(self) -> dict[str, setting_checks.Limit]:
        """Returns what each setting may be, where that is more than its type."""
        return dict(_LIMITS)

    def ignored_settings(self) -> dict[str, str]:
        """Returns settings without effect beside the others, and what would use them.

        Returns:
            For the name of each, a choice such as `optimiser=adam`.
        """
        users = {
            "adagrad_initial_accumulator": ("adagrad",),
            "optimiser_decay": ("momentum", "rmsprop"),
            "optimiser_epsilon": ("adagrad", "adam", "rmsprop"),
        }
        return {
            name: f"optimiser={' or '.join(rules)}"
            for name, rules in users.items()
            if self.optimiser not in rules
        }

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
            f"preset is {preset!r}: it must be one of auto, "
            f"{', '.join(sorted(presets))}."
        )
    return config_class(**{**presets[preset], **overrides})


def refuse_ignored(config: DQNConfig, given: Iterable[str]) -> None:
    """Refuses settings that somebody chose but that have no effect.

    Args:
        config: All settings.
        given: Names of those that were chosen, apart from defaults and presets.

    Raises:
        ValueError: Naming them, and what would use them.
    """
    ignored = config.ignored_settings()
    chosen = sorted(set(given) & ignored.keys())
    if chosen:
        user = ignored[chosen[0]]
        names = [name for name in chosen if ignored[name] == user]
        raise ValueError(
            f"{', '.join(names)} {'have' if len(names) > 1 else 'has'} no effect here: "
            f"leave {'them' if len(names) > 1 else 'it'} out, or choose {user}."
        )


_LIMITS: Mapping[str, setting_checks.Limit] = {
    "max_steps": setting_checks.AT_LEAST_ONE,
    "n_step": setting_checks.AT_LEAST_ONE,
    "batch_size": setting_checks.AT_LEAST_ONE,
    "steps_per_update": setting_checks.AT_LEAST_ONE,
    "target_period_updates": setting_checks.AT_LEAST_ONE,
    "min_replay_items": setting_checks.AT_LEAST_ONE,
    "max_replay_items": setting_checks.AT_LEAST_ONE,
    "evaluation_period_steps": setting_checks.AT_LEAST_ONE,
    "evaluation_episodes": setting_checks.AT_LEAST_ONE,
    "final_evaluation_episodes": setting_checks.AT_LEAST_ONE,
    "max_evaluation_frames": setting_checks.AT_LEAST_ONE,
    "seed": setting_checks.NOT_NEGATIVE,
    "epsilon_horizon_updates": setting_checks.NOT_NEGATIVE,
    "adagrad_initial_accumulator": setting_checks.NOT_NEGATIVE,
    "learning_rate": setting_checks.POSITIVE,
    "max_abs_reward": setting_checks.POSITIVE,
    "max_abs_td_error": setting_checks.POSITIVE,
    "max_gradient_norm": setting_checks.POSITIVE,
    "optimiser_epsilon": setting_checks.POSITIVE,
    "checkpoint_period_secs": setting_checks.POSITIVE,
    "discount": setting_checks.FRACTION,
    "initial_epsilon": setting_checks.FRACTION,
    "final_epsilon": setting_checks.FRACTION,
    "evaluation_epsilon": setting_checks.FRACTION,
    "sticky_action_probability": setting_checks.FRACTION,
    "final_learning_rate_fraction": setting_checks.FRACTION,
    "optimiser_decay": setting_checks.DECAY,
    "optimiser": setting_checks.one_of(OPTIMISERS),
    "network": setting_checks.one_of(NETWORKS),
}
