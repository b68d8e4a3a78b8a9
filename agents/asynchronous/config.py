"""Settings that A3C and the asynchronous value methods share."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from agents import run_config, setting_checks
from rlcomponents.parameters import shared_parameters

PARAMETER_STORES = ("auto", "local", "shared_memory", "server")
"""Values of `parameter_store`."""

OPTIMISER_STATISTICS = ("shared", "private")
"""Values of `optimiser_statistics`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AsyncConfig(run_config.RunConfig):
    """Settings of one run of an asynchronous method.

    Attributes:
        num_workers: Actor-learners, each in a process of its own (or a thread).
        envs_per_worker: Environments that a worker steps as one batch. 1 is the paper.
        t_max_steps: Steps of a rollout (rollout length, the n of n-step returns), at
            most; an update follows each.
        max_training_episode_steps: Agent steps after which an episode is cut for
            learning, as by a time limit, and the next begins; the first ones of
            environments side by side after fewer. Evaluation plays whole episodes.
            None: not.
        reward_scale: Rewards are multiplied by this for learning, after
            `max_abs_reward`. Scores are not.
        optimiser_statistics: `shared`: the store keeps the optimiser's statistics, for
            all workers (Shared RMSProp). `private`: each worker keeps its own.
        parameter_store: `shared_memory`: Hogwild!. `server`: parameter shards, as
            Gorila has them; on this host, too, since the launcher starts nodes on no
            other. `local`: a store with a lock, for threads. `auto`: shared memory.
        num_parameter_shards: Parameter shards of the `server` store.
        parameter_timeout_secs: Seconds after which a call to a shard has failed.
        snapshot_period_updates: Updates that a parameter shard may lose when it dies.
    """

    FIXED_SETTINGS: ClassVar[tuple[str, ...]] = (
        *run_config.RunConfig.FIXED_SETTINGS,
        "optimiser_statistics",
    )

    num_workers: int = 2
    envs_per_worker: int = 1
    t_max_steps: int = 5
    max_training_episode_steps: int | None = None
    reward_scale: float = 1.0
    optimiser_statistics: str = "shared"
    parameter_store: str = "auto"
    num_parameter_shards: int = 2
    parameter_timeout_secs: float = 30.0
    snapshot_period_updates: int = 500

    max_steps: int = 80_000_000
    optimiser: str = "rmsprop"
    learning_rate: float = 7e-4
    final_learning_rate_fraction: float = 0.0
    max_gradient_norm: float | None = 40.0

    def __post_init__(self) -> None:
        """Refuses values with which no run could work. See `RunConfig`."""
        super().__post_init__()
        max_workers = shared_parameters.MAX_WORKERS
        if self.store_kind == "shared_memory" and self.num_workers > max_workers:
            raise ValueError(
                f"num_workers is {self.num_workers}: it must be at most {max_workers} "
                "in shared memory; for more choose parameter_store=server."
            )

    @property
    def store_kind(self) -> str:
        """The store that `parameter_store` comes to."""
        return (
            "shared_memory" if self.parameter_store == "auto" else self.parameter_store
        )

    @property
    def target_copy_period_steps(self) -> int | None:
        """Agent steps between target copies; None without a target network."""
        return None

    @property
    def num_parameter_states(self) -> int:
        """See `RunConfig`."""
        return self.num_parameter_shards if self.store_kind == "server" else 1

    @property
    def statistics_states(self) -> tuple[str, ...]:
        """See `RunConfig`."""
        if self.optimiser_statistics == "shared":
            return ()
        return tuple(f"worker-{index}.npz" for index in range(self.num_workers))

    @property
    def max_rollout_steps(self) -> int:
        """Steps after which a rollout ends, if no episode has ended it."""
        return self.t_max_steps

    def check_launch_type(self, launch_type: str) -> None:
        """See `RunConfig`."""
        if self.store_kind == "local" and launch_type != "local_mt":
            raise ValueError(
                f"parameter_store is 'local', which threads of one process share, with "
                f"--lp_launch_type={launch_type}: use local_mt, or shared_memory."
            )

    def limits(self) -> dict[str, setting_checks.Limit]:
        """See `RunConfig`."""
        return {**super().limits(), **_LIMITS}

    def ignored_settings(self) -> dict[str, str]:
        """See `RunConfig`; also those of shards and statistics that there are not."""
        ignored = super().ignored_settings()
        if self.store_kind != "server":
            names = (
                "num_parameter_shards",
                "parameter_timeout_secs",
                "snapshot_period_updates",
            )
            ignored |= dict.fromkeys(names, "parameter_store=server")
        if self.optimiser == "sgd":  # It has none.
            rules = [rule for rule in run_config.OPTIMISERS if rule != "sgd"]
            ignored["optimiser_statistics"] = f"optimiser={' or '.join(rules)}"
        return ignored


_LIMITS: Mapping[str, setting_checks.Limit] = {
    "num_workers": setting_checks.NUM_NODES,
    "envs_per_worker": setting_checks.NUM_NODES,
    "num_parameter_shards": setting_checks.NUM_NODES,
    "t_max_steps": setting_checks.AT_LEAST_ONE,
    "max_training_episode_steps": setting_checks.AT_LEAST_ONE,
    "reward_scale": setting_checks.POSITIVE,
    "parameter_timeout_secs": setting_checks.POSITIVE,
    "snapshot_period_updates": setting_checks.AT_LEAST_ONE,
    "parameter_store": setting_checks.one_of(PARAMETER_STORES),
    "optimiser_statistics": setting_checks.one_of(OPTIMISER_STATISTICS),
}
