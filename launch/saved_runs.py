"""Finds what a run has saved: its settings and its newest or best checkpoint."""

import pathlib
from collections.abc import Mapping
from typing import NamedTuple

from agents import environment_check
from agents.a3c.config import A3CConfig
from agents.async_q.config import AsyncQConfig
from agents.dqn.config import DQNConfig
from agents.gorila_dqn.config import GorilaConfig
from agents.run_config import RunConfig, saved_config
from rlcomponents.nodes import lazy
from rlcomponents.runs import checkpoints, run_folder

_MAKE_DQN_PLAYER = lazy.Constructor("agents.dqn.parts", "make_player")

_AGENTS: dict[str, tuple[type[RunConfig], lazy.Constructor]] = {
    "a3c": (A3CConfig, lazy.Constructor("agents.a3c.strategy", "make_player")),
    "async_q": (AsyncQConfig, lazy.Constructor("agents.async_q.parts", "make_player")),
    "dqn": (DQNConfig, _MAKE_DQN_PLAYER),
    "gorila_dqn": (GorilaConfig, _MAKE_DQN_PLAYER),
}

AGENT_CONFIGS: Mapping[str, type[RunConfig]] = {
    name: config_class for name, (config_class, _) in _AGENTS.items()
}
"""Classes of the settings of all agents, by name."""

NEWEST, BEST = "newest", "best"
"""Which checkpoint of a run."""


class SavedRun(NamedTuple):
    """What a run has saved.

    Attributes:
        config: Its settings.
        checkpoint: Folder of the checkpoint.
        make_player: Builds what plays it; needs TensorFlow when called.
    """

    config: RunConfig
    checkpoint: pathlib.Path
    make_player: lazy.Constructor


def environment_name(run_dir: str | None) -> str:
    """Returns the name of a run's environment, and looks at nothing else.

    Args:
        run_dir: Value of the flag.

    Raises:
        ValueError: No folder is given, or it holds no run.
    """
    if run_dir is None:
        raise ValueError("--run_dir is missing: give the folder of a run.")
    return str(run_folder.RunFolder(run_dir).read_config().get("environment"))


def find(
    run_dir: str | pathlib.Path, *, checkpoint: str = NEWEST, greedy: bool = False
) -> SavedRun:
    """Reads the settings of a run, and looks for a checkpoint.

    Args:
        run_dir: Folder of the run.
        checkpoint: `newest`, or `best` by the run's own evaluations.
        greedy: Whether evaluation is to explore nothing.

    Raises:
        ValueError: The folder holds no run, one of an unknown agent or with settings
            that are none, or no checkpoint; or its environment cannot be played.
        ImportError: The environment's module or its packages are missing.
    """
    folder = run_folder.RunFolder(run_dir)
    settings = folder.read_config()
    agent = settings.pop("agent", None)
    if agent not in _AGENTS:
        raise ValueError(
            f"{folder.config_json} names the agent {agent!r}: it must be one of "
            f"{', '.join(sorted(_AGENTS))}; play others by agents.saved_policy, or add "
            "them to launch/saved_runs.py."
        )
    config_class, make_player = _AGENTS[agent]
    config = saved_config(config_class, settings, folder.config_json)
    is_best = checkpoint == BEST
    path = checkpoints.latest(
        folder.best_checkpoint if is_best else folder.checkpoints, thorough=True
    )
    if path is None:
        when = (
            f"with the first evaluation, after {config.evaluation_period_steps:,} steps"
            if is_best
            else f"{config.checkpoint_period_secs:g} s after training starts"
        )
        raise ValueError(
            f"{folder.path} holds no {'best ' if is_best else ''}checkpoint that is "
            f"whole: the first is saved {when}, or as training ends."
        )
    environment_check.check_environment(config)
    if greedy:
        config = config.greedy()
    return SavedRun(config, path, make_player)
