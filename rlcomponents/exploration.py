"""Which action to try: epsilon-greedy, or drawn from a policy; in NumPy.

Every function takes the generator it draws from, so one seed per actor gives one
sequence of actions. No TensorFlow here: Q-values and policies come as arrays.
"""

import numpy as np

from rlcomponents.networks import policies

ASYNC_FINAL_EPSILONS = (0.1, 0.01, 0.5)
"""Final exploration rates of the asynchronous value-based methods."""

ASYNC_FINAL_PROBABILITIES = (0.4, 0.3, 0.3)
"""How often each of `ASYNC_FINAL_EPSILONS` is drawn, in the same order."""


def epsilon_greedy(
    q_values: np.ndarray, epsilon: float, rng: np.random.Generator
) -> int | np.ndarray:
    """Draws a uniformly random action with probability epsilon, else the best one.

    Of equally good actions the first is the best one. The random action may be the
    best one too, so the best is taken with probability `1 - epsilon + epsilon / A`.

    Args:
        q_values: `[A]` or `[B, A]` float.
        epsilon: Probability of a random action, in [0, 1].
        rng: What to draw from.

    Returns:
        The action as an int in [0, A); for a batch `[B]` int32, drawn independently.

    Raises:
        ValueError: `epsilon` or the rank of `q_values` is out of range.
    """
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon is {epsilon}: give a probability in [0, 1].")
    num_actions = q_values.shape[-1]
    if q_values.ndim == 1:
        if rng.random() < epsilon:
            return int(rng.integers(num_actions))
        return int(np.argmax(q_values))
    if q_values.ndim != 2:
        raise ValueError(
            f"q_values has shape {q_values.shape}: give [A], or [B, A] for a batch."
        )
    batch_size = q_values.shape[0]
    random = rng.integers(num_actions, size=batch_size, dtype=np.int32)
    best = np.argmax(q_values, axis=-1).astype(np.int32)
    return np.where(rng.random(batch_size) < epsilon, random, best)


def sample(policy: policies.Policy, rng: np.random.Generator) -> np.ndarray:
    """Draws an action from a policy, for each row of a batch independently.

    Args:
        policy: Its leading axes are those of the batch; there may be none.
        rng: What to draw from.

    Returns:
        `[...]` int32 in [0, A) for a softmax policy, drawn by adding Gumbel noise to
        the logits; `[..., D]` float32 for a Gaussian one, which may lie outside an
        environment's bounds.

    Raises:
        ValueError: The policy is not a number.
    """
    _check_numbers(policy)
    if isinstance(policy, policies.Softmax):
        logits = np.asarray(policy.logits)
        noise = rng.gumbel(size=logits.shape)
        return np.argmax(logits + noise, axis=-1).astype(np.int32)
    mean = np.asarray(policy.mean)
    deviation = np.sqrt(np.asarray(policy.variance))[..., np.newaxis]
    return mean + deviation * rng.standard_normal(mean.shape, np.float32)


def mode(policy: policies.Policy) -> np.ndarray:
    """Returns the likeliest action of a policy, shaped as by `sample`.

    Of equally likely discrete actions the first.

    Raises:
        ValueError: The policy is not a number.
    """
    _check_numbers(policy)
    if isinstance(policy, policies.Softmax):
        return np.argmax(policy.logits, axis=-1).astype(np.int32)
    return np.array(policy.mean)


def async_final_epsilon(rng: np.random.Generator) -> float:
    """Draws the rate at which one asynchronous actor-learner ends its annealing.

    Reference:
        Mnih et al. 2016, section 8 (0.1, 0.01 or 0.5, with probabilities 0.4, 0.3
        and 0.3). https://arxiv.org/abs/1602.01783
    """
    return float(rng.choice(ASYNC_FINAL_EPSILONS, p=ASYNC_FINAL_PROBABILITIES))


def spread_epsilon(
    epsilon: float, index: int, num_actors: int, *, exponent: float = 7.0
) -> float:
    """Returns the exploration rate of one actor of several, each lower than the last.

        epsilon_i = epsilon ^ (1 + exponent * i / (num_actors - 1))

    A single actor gets `epsilon`, where the paper's formula divides by zero.

    Args:
        epsilon: Rate of actor 0, the most curious one, in [0, 1].
        index: The actor's number, i, from 0.
        num_actors: How many actors there are.
        exponent: How far the rates spread, at least 0. The paper's alpha.

    Raises:
        ValueError: There is no such actor.

    Reference:
        Horgan et al. 2018, section 4. https://arxiv.org/abs/1803.00933. Differs: the
        paper's epsilon is 0.4 throughout; here it may be annealed.
    """
    if not 0 <= index < num_actors:
        raise ValueError(f"There is no actor {index} of {num_actors}: count from 0.")
    return epsilon ** (1.0 + exponent * index / max(num_actors - 1, 1))


def _check_numbers(policy: policies.Policy) -> None:
    """Refuses what NumPy would silently turn into action 0, or a NaN action."""
    for name, values in policy._asdict().items():
        if np.isnan(values).any():
            raise ValueError(
                f"The {name} of the policy is not a number: learning has diverged; "
                "lower the learning rate, or clip gradients."
            )
