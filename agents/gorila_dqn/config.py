"""Settings of Gorila DQN. The presets by environment suite are DQN's."""

import dataclasses
from collections.abc import Mapping

from agents import setting_checks
from agents.dqn.config import DQNConfig

MODES = ("bundled", "central")
"""Values of `mode`."""

SPREADS = ("same", "spread")
"""Values of `exploration`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GorilaConfig(DQNConfig):
    """Settings of one Gorila run: DQN's, and how it is distributed.

    Attributes:
        mode: `bundled`: each bundle is actor, replay and learner in one process, on
            one network. `central`: each of them is a process of its own.
        num_bundles: Bundles (bundled mode).
        num_actors: Actors (central mode).
        num_learners: Learners (central mode).
        num_replay_shards: Replay servers (central mode).
        num_parameter_shards: Parameter shards.
        max_staleness_updates: Updates by which a gradient may be behind; older ones
            are discarded by the shards.
        outlier_deviations: Standard deviations above the mean absolute loss beyond
            which a learner discards its gradient. None: never.
        outlier_warmup_batches: Batches before that rule starts to judge.
        outlier_min_loss: Mean loss of a batch below which it is never an outlier.
        actor_sync_period_steps: Agent steps between an actor's pulls (central mode).
        exploration: `same`: one epsilon for all actors. `spread`: actor i of N uses
            epsilon^(1 + 7 i / (N - 1)) (Horgan et al. 2018).
        parameter_timeout_secs: Seconds after which a call to a shard has failed.
        snapshot_period_updates: Updates that a parameter shard may lose when it dies.
        target_period_updates: Global updates from one target copy to the next.
        epsilon_horizon_updates: Global updates over which exploration falls.
    """

    mode: str = "bundled"
    num_bundles: int = 2
    num_actors: int = 2
    num_learners: int = 1
    num_replay_shards: int = 1
    num_parameter_shards: int = 2
    max_staleness_updates: int = 100
    outlier_deviations: float | None = 6.0
    outlier_warmup_batches: int = 1_000
    outlier_min_loss: float = 1.0
    actor_sync_period_steps: int = 100
    exploration: str = "same"
    parameter_timeout_secs: float = 60.0
    snapshot_period_updates: int = 500
    target_period_updates: int = 60_000
    epsilon_horizon_updates: int = 1_000_000

    def __post_init__(self) -> None:
        """Refuses values with which no run could work. See `DQNConfig`."""
        super().__post_init__()
        if self.mode == "central" and self.num_replay_shards > self.num_actors:
            raise ValueError(
                f"num_replay_shards is {self.num_replay_shards}: it must be at most "
                f"num_actors ({self.num_actors}), since each actor inserts into one "
                "shard and the others would stay empty."
            )
        if self.mode == "central" and self.replay == "memory":
            raise ValueError(
                "replay is memory, and mode is central, where actors and learners are "
                "processes of their own: leave it out, use reverb, or mode=bundled."
            )

    @property
    def num_replays(self) -> int:
        """Replays of the whole program."""
        return self.num_bundles if self.mode == "bundled" else self.num_replay_shards

    @property
    def replay_kind(self) -> str:
        """See `DQNConfig`."""
        return "reverb" if self.mode == "central" else super().replay_kind

    @property
    def samples_per_insert(self) -> float | None:
        """Ratio to which replay itself holds actors and learners (central mode)."""
        return (
            self.batch_size / self.steps_per_update if self.mode == "central" else None
        )

    @property
    def replay_states(self) -> tuple[str, ...]:
        """See `RunConfig`."""
        if self.mode == "bundled":
            return tuple(f"bundle-{index}-replay" for index in range(self.num_bundles))
        return tuple(f"replay-{index}" for index in range(self.num_replay_shards))

    @property
    def num_parameter_states(self) -> int:
        """See `RunConfig`."""
        return self.num_parameter_shards

    def limits(self) -> dict[str, setting_checks.Limit]:
        """See `DQNConfig`."""
        return {**super().limits(), **_LIMITS}

    def ignored_settings(self) -> dict[str, str]:
        """See `DQNConfig`; also those of the other mode, and of a rule left out."""
        ignored = super().ignored_settings()
        for mode, names in _USED_BY_MODE.items():
            if mode != self.mode:
                ignored |= dict.fromkeys(names, f"mode={mode}")
        if self.outlier_deviations is None:
            ignored |= dict.fromkeys(
                ("outlier_warmup_batches", "outlier_min_loss"),
                "a number for outlier_deviations",
            )
        return ignored


_USED_BY_MODE = {
    "bundled": ("num_bundles",),
    "central": (
        "num_actors",
        "num_learners",
        "num_replay_shards",
        "actor_sync_period_steps",
    ),
}

_LIMITS: Mapping[str, setting_checks.Limit] = {
    "num_bundles": setting_checks.NUM_NODES,
    "num_actors": setting_checks.NUM_NODES,
    "num_learners": setting_checks.NUM_NODES,
    "num_replay_shards": setting_checks.NUM_NODES,
    "num_parameter_shards": setting_checks.NUM_NODES,
    "actor_sync_period_steps": setting_checks.AT_LEAST_ONE,
    "max_staleness_updates": setting_checks.NOT_NEGATIVE,
    "outlier_deviations": setting_checks.POSITIVE,
    "outlier_min_loss": setting_checks.NOT_NEGATIVE,
    "outlier_warmup_batches": setting_checks.NOT_NEGATIVE,
    "parameter_timeout_secs": setting_checks.POSITIVE,
    "snapshot_period_updates": setting_checks.AT_LEAST_ONE,
    "mode": setting_checks.one_of(MODES),
    "exploration": setting_checks.one_of(SPREADS),
}
