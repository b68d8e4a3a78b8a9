"""summary.json: what a run came to, written when it ends, however it ends."""

import dataclasses
import json
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlcomponents.runs import atomic_files

MAX_STEPS = "max_steps"
"""Reason of a run that took all its steps, and has had its last evaluation."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """What a run came to.

    A return is None where no episode ended or no evaluation was made; so is any number
    that came out as NaN or infinite, since JSON has no word for those.

    Attributes:
        reason: Why the run ended, in words.
        environment: Name of the environment.
        agent: Name of the agent.
        agent_steps: Actions taken by all actors together.
        environment_frames: Emulator frames of those steps.
        updates: Gradients applied by the store.
        discarded_stale: Gradients discarded by the store for their age.
        discarded_outlier: Gradients discarded by learners for their loss.
        discarded_nonfinite: Episodes, rollouts and gradients with NaN or infinity.
        mean_staleness_updates: Mean age of the applied gradients, in updates.
        episodes: Training episodes that ended.
        train_return: Mean raw return of the last training episodes.
        evaluation_return: Mean raw return of the last evaluation.
        evaluation_episodes: Episodes of the last evaluation.
        evaluation_standard_error: Of the mean of the last evaluation.
        evaluation_agent_steps: Actions taken in training before the last evaluation.
        best_evaluation_return: Mean raw return of the best evaluation, which may be the
            last. As the largest of several it promises a little more than it holds.
        best_evaluation_episodes: Episodes of the best evaluation.
        best_evaluation_standard_error: Of the mean of the best evaluation.
        best_evaluation_agent_steps: Actions taken in training before it.
        wall_secs: From the first agent step to the end.
        steps_per_sec: Agent steps a second, from the first step to the last.
        frames_per_sec: Environment frames a second, over the same time.
        updates_per_sec: Updates a second, over the same time.
        restarts: What was started again, in order; at least the node's name each.
    """

    reason: str
    environment: str
    agent: str
    agent_steps: int = 0
    environment_frames: int = 0
    updates: int = 0
    discarded_stale: int = 0
    discarded_outlier: int = 0
    discarded_nonfinite: int = 0
    mean_staleness_updates: float | None = 0.0
    episodes: int = 0
    train_return: float | None = None
    evaluation_return: float | None = None
    evaluation_episodes: int = 0
    evaluation_standard_error: float | None = None
    evaluation_agent_steps: int = 0
    best_evaluation_return: float | None = None
    best_evaluation_episodes: int = 0
    best_evaluation_standard_error: float | None = None
    best_evaluation_agent_steps: int = 0
    wall_secs: float | None = 0.0
    steps_per_sec: float | None = 0.0
    frames_per_sec: float | None = 0.0
    updates_per_sec: float | None = 0.0
    restarts: list[dict[str, Any]] = dataclasses.field(default_factory=list)


def write(path: pathlib.Path, summary: Summary, *, lasting: bool = True) -> None:
    """Replaces the summary at `path`.

    Args:
        path: The summary.
        summary: What it says from now on.
        lasting: See `atomic_files.write_bytes`. Not for one that is soon replaced.
    """
    fields = dataclasses.asdict(summary)
    plain = {key: _plain(fields[key]) for key in fields}
    atomic_files.write_json(path, plain, lasting=lasting)


def read(path: pathlib.Path) -> Summary:
    """Reads a summary.

    Raises:
        FileNotFoundError: There is none.
        ValueError: The file is no summary.
    """
    try:
        return Summary(**json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not the summary of a run ({error}).") from error


def is_complete(path: pathlib.Path, max_steps: int) -> bool:
    """Returns whether a summary, if there is one, says that a run is complete.

    Args:
        path: The summary. One of before the run went on with more steps says nothing.
        max_steps: Of the run.

    Raises:
        ValueError: The file is no summary.
    """
    if not path.exists():
        return False
    summary = read(path)
    return summary.reason == MAX_STEPS and summary.agent_steps >= max_steps


def set_ending(
    path: pathlib.Path, reason: str, *, agent: str, environment: str
) -> Summary:
    """Records why the run ended, after it could not do so by itself.

    Args:
        path: The summary; what it says about all else is kept. Where there is none, one
            without steps is written.
        reason: Why the run ended, in words.
        agent: Name of the agent, for a new summary.
        environment: Name of the environment, for a new summary.

    Returns:
        The summary as it is now.
    """
    if path.exists():
        summary = dataclasses.replace(read(path), reason=reason)
    else:
        summary = Summary(reason=reason, agent=agent, environment=environment)
    write(path, summary)
    return summary


def set_restarts(path: pathlib.Path, restarts: Sequence[dict[str, Any]]) -> None:
    """Records what was started again; only who watched the nodes knows.

    Args:
        path: The summary, which exists; what it says about all else is kept.
        restarts: See `Summary`.
    """
    write(path, dataclasses.replace(read(path), restarts=list(restarts)))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
