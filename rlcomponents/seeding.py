"""Seeds of the nodes of a run: all different, equal from launch to launch.

And what a random generator saves, so that a run goes on as if it had not stopped.
"""

import zlib
from typing import Any

import numpy as np


def derive(run_seed: int, role: str, index: int = 0, *, life: int = 0) -> int:
    """Returns the seed of one node, or of one random source in it.

    It depends on nothing but the arguments: not on the order in which nodes start,
    nor on how many there are.

    Args:
        run_seed: Seed of the run, 0 or more.
        role: What the seed is for, such as `actor` or `network`.
        index: Number of the node within its role.
        life: How often the node was started before: a node that starts again, or whose
            run is resumed, must not see the same numbers twice.

    Returns:
        A seed in [0, 2^31).
    """
    entropy = [run_seed, zlib.crc32(role.encode()), index]
    if life:
        entropy.append(life)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)


def save_generator(rng: np.random.Generator | np.random.RandomState) -> dict[str, Any]:
    """Returns where a generator is, as a `states.State`."""
    if isinstance(rng, np.random.RandomState):
        return dict(rng.get_state(legacy=False))
    return dict(rng.bit_generator.state)


def restore_generator(
    rng: np.random.Generator | np.random.RandomState, state: dict[str, Any]
) -> None:
    """Goes on from what `save_generator` returned.

    Raises:
        ValueError: It was a generator of another kind.
    """
    if isinstance(rng, np.random.RandomState):
        rng.set_state(state)
    else:
        rng.bit_generator.state = state
