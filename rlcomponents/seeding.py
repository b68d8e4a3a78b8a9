"""Seeds of the nodes of a run: all different, equal from launch to launch."""

import zlib

import numpy as np


def derive(run_seed: int, role: str, index: int = 0) -> int:
    """Returns the seed of one node, or of one random source in it.

    It depends on nothing but the arguments: not on the order in which nodes start,
    nor on how many there are.

    Args:
        run_seed: Seed of the run, 0 or more.
        role: What the seed is for, such as `actor` or `network`.
        index: Number of the node within its role.

    Returns:
        A seed in [0, 2^31).
    """
    entropy = [run_seed, zlib.crc32(role.encode()), index]
    return int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)
