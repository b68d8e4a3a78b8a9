"""Sums of discounted rewards over a rollout, in NumPy.

Time comes first, `[T]` or `[T, B]`. Discounts already hold the environment's own:
gamma at most steps, 0 at a termination. A rollout that was cut short (by a time limit
or by its length) keeps gamma there and bootstraps from the value of what came next.
"""

import numpy as np


def n_step_return(
    rewards: np.ndarray, discounts: np.ndarray, bootstrap: np.ndarray | float
) -> np.ndarray:
    """Computes, for each step of a rollout, the longest return that it allows.

        G_T = bootstrap
        G_i = rewards[i] + discounts[i] * G_{i+1}

    So the last step gets a one-step return, the first a T-step return.

    Args:
        rewards: `[T, ...]` float, the reward that followed each action.
        discounts: Shape of `rewards`; what the future is worth after each action,
            gamma times the environment's discount.
        bootstrap: `[...]` float, estimated value of the observation after the last
            action. Without effect where the last discount is 0.

    Returns:
        `[T, ...]` float32, the returns.

    Raises:
        ValueError: The shapes do not fit together.

    Reference:
        Mnih et al. 2016, Algorithms S2 and S3, the loop over i.
        https://arxiv.org/abs/1602.01783. Differs: the discount comes per step, so a
        rollout may run over the ends of episodes.
    """
    rewards = np.asarray(rewards, np.float32)
    discounts = np.asarray(discounts, np.float32)
    value = np.asarray(bootstrap, np.float32)
    if discounts.shape != rewards.shape or value.shape != rewards.shape[1:]:
        raise ValueError(
            f"rewards {rewards.shape}, discounts {discounts.shape} and bootstrap "
            f"{value.shape} do not fit: give [T, ...], [T, ...] and [...]."
        )
    returns = np.empty_like(rewards)
    for step in reversed(range(len(rewards))):
        value = rewards[step] + discounts[step] * value
        returns[step] = value
    return returns
