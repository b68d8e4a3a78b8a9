"""Settings of Gorila DQN. The presets by environment suite are DQN's."""

import dataclasses
from collections.abc import Iterable

from agents.dqn.config import DQNConfig

MODES = ("bundled", "central")
SPREADS = ("same", "spread")


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
    parameter_timeout_secs: float = 30.0
    target_period_updates: int = 60_000

    def __post_init__(self) -> None:
        """Refuses values with which no run could work. See `DQNConfig`."""
        for name in (
            "num_bundles",
            "num_actors",
            "num_learners",
            "num_replay_shards",
            "num_parameter_shards",
            "actor_sync_period_steps",
        ):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: it must be at least 1."
                )
        for name in (
            "max_staleness_updates",
            "outlier_warmup_batches",
            "outlier_min_loss",
        ):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: it must be 0 or more."
                )
        for name in ("outlier_deviations", "parameter_timeout_secs"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} is {value}: it must be above 0.")
        for name, allowed in (("mode", MODES), ("exploration", SPREADS)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}: it must be "
                    f"{' or '.join(allowed)}."
                )
        super().__post_init__()

    @property
    def num_replays(self) -> int:
        """Replays of the whole program."""
        return self.num_bundles if self.mode == "bundled" else self.num_replay_shards

    @property
    def samples_per_insert(self) -> float | None:
        """Ratio to which replay itself holds actors and learners (central mode)."""
        return (
            self.batch_size / self.steps_per_update if self.mode == "central" else None
        )


IGNORED_BY_MODE = {
    "bundled": (
        "num_actors",
        "num_learners",
        "num_replay_shards",
        "actor_sync_period_steps",
    ),
    "central": ("num_bundles",),
}
"""Settings that have no meaning in a mode, so that giving them is a mistake."""


def refuse_ignored(mode: str, given: Iterable[str]) -> None:
    """Refuses settings that were given but that the mode does not look at.

    Raises:
        ValueError: Naming the settings, and the mode that uses them.
    """
    ignored = sorted(set(given) & set(IGNORED_BY_MODE.get(mode, ())))
    if ignored:
        other = next(name for name in MODES if name != mode)
        raise ValueError(
            f"{', '.join(ignored)} has no effect in {mode} mode: leave it out, or "
            f"choose mode={other}."
        )
