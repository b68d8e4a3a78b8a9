"""Settings that the runs of all agents have, and how a config comes about.

An agent's own config is a subclass; README.md of the agent says where its values come
from.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from agents import setting_checks
from rlcomponents import core, finite, names, specs
from rlcomponents.environments import registry
from rlcomponents.networks import kinds

NETWORKS = ("auto", *kinds.KINDS)
"""Values of `network`, beside torsos of a user's own."""

OPTIMISERS = ("adagrad", "adam", "momentum", "rmsprop", "sgd")
"""Values of `optimiser`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig:
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
        network: `auto`, `nature_dqn`, `nips_dqn`, `minatar` or `mlp`; or a torso of
            your own, `module:package.module:make_torso`.
        discount: Per agent step.
        optimiser: Rule that the store applies.
        learning_rate: Step size at the start.
        final_learning_rate_fraction: Part of it left at `max_steps`, reached linearly.
        adagrad_initial_accumulator: Where AdaGrad's sum of squares starts.
        optimiser_decay: Decay of RMSProp's mean of squares, or of momentum. None: 0.99.
        optimiser_epsilon: Added inside RMSProp's root, or to Adam's and AdaGrad's.
            None: 0.1 (rmsprop), 1e-08 (adam), 1e-07 (adagrad).
        max_gradient_norm: Norm to which a gradient is scaled down (gradient clipping).
            None: not.
        max_nonfinite_in_a_row: Episodes or gradients in a row with NaN or infinity that
            end the run; fewer are discarded and counted.
        evaluation_period_steps: Agent steps from one evaluation to the next.
        evaluation_episodes: Episodes of each evaluation while training.
        final_evaluation_episodes: Episodes of the evaluation at the end.
        max_evaluation_frames: Frames after which an evaluation episode is cut.
        num_evaluation_videos: Evaluations whose first game is filmed, at most, spread
            evenly over the run. 0: none.
        max_evaluation_video_steps: Agent steps after which such a film ends.
        checkpoint_period_secs: Seconds from one checkpoint to the next.
        num_checkpoints_kept: How many of the newest are kept; the best by evaluation
            is kept besides.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Settings by environment, or by its suite, that differ from the defaults."""

    FIXED_SETTINGS: ClassVar[tuple[str, ...]] = (
        "environment",
        "full_action_set",
        "network",
        "optimiser",
    )
    """What cannot change where a run goes on: it is in what was saved."""

    environment: str = "atari:pong"
    seed: int = 0
    max_steps: int = 50_000_000
    max_abs_reward: float | None = 1.0
    terminal_on_life_loss: bool | None = None
    sticky_action_probability: float | None = None
    full_action_set: bool | None = None
    network: str = "auto"
    discount: float = 0.99
    optimiser: str = "adagrad"
    learning_rate: float = 0.01
    final_learning_rate_fraction: float = 1.0
    adagrad_initial_accumulator: float = 0.1
    optimiser_decay: float | None = None
    optimiser_epsilon: float | None = None
    max_gradient_norm: float | None = None
    max_nonfinite_in_a_row: int = finite.MAX_IN_A_ROW
    evaluation_period_steps: int = 250_000
    evaluation_episodes: int = 10
    final_evaluation_episodes: int = 30
    max_evaluation_frames: int = 18_000
    num_evaluation_videos: int = 50
    max_evaluation_video_steps: int = 200
    checkpoint_period_secs: float = 60.0
    num_checkpoints_kept: int = 2

    def __post_init__(self) -> None:
        """Refuses values with which no run could work.

        Raises:
            ValueError: In one sentence, naming the value, what is allowed, and why.
            ImportError: The environment's module or its packages are missing.
        """
        setting_checks.check(self, self.limits())
        self.make_environment_factory()

    @property
    def frames_per_step(self) -> int:
        """Environment frames of one agent step."""
        return registry.frames_per_step(self.environment)

    @property
    def max_evaluation_steps(self) -> int:
        """Agent steps after which an evaluation episode is cut."""
        return max(1, self.max_evaluation_frames // self.frames_per_step)

    @property
    def evaluation_policy(self) -> str:
        """How evaluation acts, in words."""
        return "the policy as it is"

    def greedy(self) -> "RunConfig":
        """Returns the same settings, but for evaluation that explores nothing.

        Raises:
            ValueError: The agent has no such evaluation.
        """
        raise ValueError(f"{type(self).__name__} has no greedy evaluation.")

    @property
    def explores_by_epsilon(self) -> bool:
        """Whether evaluation takes a random action now and then."""
        return hasattr(self, "evaluation_epsilon")

    def with_epsilon(self, epsilon: float) -> "RunConfig":
        """Returns the same settings, but for evaluation with this epsilon.

        Raises:
            ValueError: The agent has none, or it is no probability.
        """
        if not self.explores_by_epsilon:
            raise ValueError(
                f"epsilon is {epsilon}: {type(self).__name__} has a policy of its own, "
                "which evaluation follows without an epsilon; leave it out."
            )
        changes: dict[str, Any] = {"evaluation_epsilon": epsilon}
        return dataclasses.replace(self, **changes)

    @property
    def replay_capacity_items(self) -> int:
        """Transitions that all replays of the program keep; 0 without replay."""
        return 0

    @property
    def replay_states(self) -> tuple[str, ...]:
        """Names of the folders with replay in the run's state; none without replay."""
        return ()

    @property
    def statistics_states(self) -> tuple[str, ...]:
        """Files in the run's state with optimiser statistics of a worker's own."""
        return ()

    @property
    def num_parameter_states(self) -> int:
        """Files in the run's state from which the parameters go on: one a shard."""
        return 1

    def make_watch(self) -> finite.Watch:
        """Returns what counts whatever one node discards for not being finite."""
        return finite.Watch(max_in_a_row=self.max_nonfinite_in_a_row)

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
        self.check_network(kind, environment_spec)
        return kind

    def check_network(self, kind: str, environment_spec: specs.EnvironmentSpec) -> None:
        """Raises ValueError where the agent's network does not fit an environment."""
        kinds.check(kind, environment_spec)

    def check_launch_type(self, launch_type: str) -> None:
        """Raises ValueError where the settings ask for another way to launch."""

    def notes(self) -> list[str]:
        """Returns what the user should know of these settings, a line each."""
        return []

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
        ignored = {
            name: f"optimiser={' or '.join(rules)}"
            for name, rules in users.items()
            if self.optimiser not in rules
        }
        if not self.num_evaluation_videos:
            ignored["max_evaluation_video_steps"] = "num_evaluation_videos=1 or more"
        return ignored


Config = TypeVar("Config", bound=RunConfig)
"""The config of some agent."""


def make_config(
    config_class: type[Config], overrides: Mapping[str, Any], *, preset: str = "auto"
) -> Config:
    """Returns a config: the class's defaults, then the preset, then the overrides.

    Args:
        config_class: Of the agent.
        overrides: Settings by name.
        preset: A key of the class's `PRESETS`, or `auto`: the one named like the
            environment or its suite, and `minatar` (values for small environments) for
            your own.

    Raises:
        ValueError: Unknown preset, or settings that cannot work.
    """
    presets = config_class.PRESETS
    if preset == "auto":
        default = config_class.__dataclass_fields__["environment"].default
        environment = overrides.get("environment", default)
        names = (environment, registry.suite(environment), "minatar")
        preset = next((name for name in names if name in presets), names[-1])
    if preset not in presets:
        raise ValueError(
            f"preset is {preset!r}: it must be one of auto, "
            f"{', '.join(sorted(presets))}."
        )
    return config_class(**{**presets[preset], **overrides})


def saved_config(
    config_class: type[Config], settings: Mapping[str, Any], source: Any
) -> Config:
    """Returns the config whose settings were saved.

    Args:
        config_class: Of the agent.
        settings: By name. Those that did not exist yet have their defaults.
        source: The file they are from, for the message.

    Raises:
        ValueError: There is no such setting, or a value cannot work.
    """
    unknown = sorted(settings.keys() - config_class.__dataclass_fields__.keys())
    if unknown:
        raise ValueError(
            f"{source} has settings that {config_class.__name__} does not know "
            f"({', '.join(unknown)}): use the version that made the run."
        )
    return config_class(**settings)


def refuse_ignored(config: RunConfig, given: Iterable[str]) -> None:
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
    "max_nonfinite_in_a_row": setting_checks.AT_LEAST_ONE,
    "evaluation_period_steps": setting_checks.AT_LEAST_ONE,
    "evaluation_episodes": setting_checks.AT_LEAST_ONE,
    "final_evaluation_episodes": setting_checks.AT_LEAST_ONE,
    "max_evaluation_frames": setting_checks.AT_LEAST_ONE,
    "max_evaluation_video_steps": setting_checks.AT_LEAST_ONE,
    "num_checkpoints_kept": setting_checks.AT_LEAST_ONE,
    "num_evaluation_videos": setting_checks.NOT_NEGATIVE,
    "seed": setting_checks.NOT_NEGATIVE,
    "adagrad_initial_accumulator": setting_checks.NOT_NEGATIVE,
    "learning_rate": setting_checks.POSITIVE,
    "max_abs_reward": setting_checks.POSITIVE,
    "max_gradient_norm": setting_checks.POSITIVE,
    "optimiser_epsilon": setting_checks.POSITIVE,
    "checkpoint_period_secs": setting_checks.POSITIVE,
    "discount": setting_checks.FRACTION,
    "sticky_action_probability": setting_checks.FRACTION,
    "final_learning_rate_fraction": setting_checks.FRACTION,
    "optimiser_decay": setting_checks.DECAY,
    "optimiser": setting_checks.one_of(OPTIMISERS),
    "network": setting_checks.Limit(
        f"one of {', '.join(NETWORKS)}, or module:package.module:make_torso for a "
        "torso of your own",
        lambda value: value in NETWORKS or names.is_own(value),
    ),
}
