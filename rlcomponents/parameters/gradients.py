"""What happens to a vector before it is cut into shards.

A shard sees only its part, so whatever looks at the whole (the norm, whether all is
finite, how many values are not) is done once, at the client.
"""

import math

import numpy as np

from rlcomponents import finite
from rlcomponents.parameters import layout as layouts


def check(vector: np.ndarray, layout: layouts.ParameterLayout, what: str) -> float:
    """Returns the Euclidean norm of a vector that is fit to be sent.

    Args:
        vector: `[num_parameters]` float32, contiguous, finite.
        layout: Gives the length, and the variables' names for the message.
        what: What the vector is, for the message.

    Raises:
        ValueError: Another dtype or shape, or values that are not finite.
    """
    if vector.dtype != np.float32 or vector.shape != (layout.num_parameters,):
        raise ValueError(
            f"The {what} is {vector.dtype} of shape {vector.shape}: it must be float32 "
            f"of shape ({layout.num_parameters},)."
        )
    if not vector.flags.c_contiguous:
        raise ValueError(f"The {what} is not contiguous: pass a contiguous copy.")
    # Any NaN or infinity makes the sum of squares not finite, so one pass finds both.
    squared_norm = float(np.dot(vector, vector))
    if not math.isfinite(squared_norm):
        bad = np.flatnonzero(~np.isfinite(vector))
        if bad.size:
            raise ValueError(
                f"{bad.size} of the {vector.size} values of the {what} are not finite, "
                f"the first in {layout.name_at(int(bad[0]))!r}: nothing was sent."
            )
        # All finite: only the float32 sum overflowed.
        squared_norm = float(np.sum(np.square(vector, dtype=np.float64)))
    return math.sqrt(squared_norm)


def describe_non_finite(
    loss: float, gradient: np.ndarray, layout: layouts.ParameterLayout
) -> str | None:
    """Says what of a loss and its gradient is not finite; None where all is.

    Args:
        loss: Of a batch or a rollout.
        gradient: `[num_parameters]` float32.
        layout: Gives the variables' names.
    """
    if not math.isfinite(loss):
        return f"loss is {loss}"
    problem = finite.describe_array("gradient", gradient)
    if problem is None:
        return None
    first = int(np.flatnonzero(~np.isfinite(gradient))[0])
    return f"{problem}, the first in {layout.name_at(first)!r}"


def check_max_norm(max_gradient_norm: float | None) -> None:
    """Raises ValueError for a `max_gradient_norm` that is not positive."""
    if max_gradient_norm is not None and not max_gradient_norm > 0.0:
        raise ValueError(
            f"max_gradient_norm is {max_gradient_norm}: give a positive number, or "
            "None for no clipping."
        )


def check_and_clip(
    gradient: np.ndarray,
    layout: layouts.ParameterLayout,
    max_norm: float | None,
) -> np.ndarray:
    """Checks a gradient and scales it to `max_norm` where it is longer.

        g <- g * min(1, max_norm / ||g||)

    Args:
        gradient: `[num_parameters]` float32. Never changed.
        layout: See `check`.
        max_norm: Largest Euclidean norm that goes through as it is. None: any.

    Returns:
        `gradient` itself where it is short enough, else a scaled copy.

    Raises:
        ValueError: See `check`.

    Reference:
        Pascanu et al. 2013, Algorithm 1; https://arxiv.org/abs/1211.5063.
    """
    norm = check(gradient, layout, "gradient")
    if max_norm is None or norm <= max_norm:
        return gradient
    return gradient * np.float32(max_norm / norm)
