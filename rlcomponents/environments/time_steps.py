"""Time steps in single precision, as agents and replay store them.

dm_env's own constructors give Python floats, which NumPy takes for float64. The
environments here promise float32 rewards and discounts and keep to it.
"""

from typing import Any

import dm_env
import numpy as np
from dm_env import specs


def reward_spec() -> specs.Array:
    """Returns the spec of a raw reward: `[]` float32."""
    return specs.Array((), np.float32, "reward")


def discount_spec() -> specs.BoundedArray:
    """Returns the spec of a discount: `[]` float32 in [0, 1]."""
    return specs.BoundedArray((), np.float32, 0.0, 1.0, "discount")


def transition(reward: float, observation: Any) -> dm_env.TimeStep:
    """Returns a step in the middle of an episode."""
    return _step(dm_env.StepType.MID, reward, 1.0, observation)


def termination(reward: float, observation: Any) -> dm_env.TimeStep:
    """Returns a LAST step after which nothing more can be earned: discount 0."""
    return _step(dm_env.StepType.LAST, reward, 0.0, observation)


def truncation(reward: float, observation: Any) -> dm_env.TimeStep:
    """Returns a LAST step where a limit cut the episode: discount 1."""
    return _step(dm_env.StepType.LAST, reward, 1.0, observation)


def _step(
    step_type: dm_env.StepType, reward: float, discount: float, observation: Any
) -> dm_env.TimeStep:
    return dm_env.TimeStep(
        step_type, np.float32(reward), np.float32(discount), observation
    )
