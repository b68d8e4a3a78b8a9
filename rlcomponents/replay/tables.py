"""Reverb tables of transitions.

An item has three parts: `observation` and `next_observation`, one entry a column of the
layout, and `step`, `[3]` float32: action, reward and discount. These three are packed
because each value that is stored by itself costs Reverb about 1 KB of bookkeeping, more
than a compressed frame of many games.
"""

from typing import Any

import reverb
import tensorflow as tf

from rlcomponents import specs
from rlcomponents.replay import layout as replay_layout
from rlcomponents.replay import limits as replay_limits
from rlcomponents.replay import transitions

TABLE = "transitions"

STEP = tf.TensorSpec((3,), tf.float32, "step")
"""Action, reward and discount of an item."""


def signature(environment_spec: specs.EnvironmentSpec) -> dict[str, Any]:
    """Describes an item of an environment's table.

    Args:
        environment_spec: Actions must be a scalar integer.

    Returns:
        Structure of `tf.TensorSpec`; stacks come as `[num_frames, *F]`.

    Raises:
        ValueError: Actions that cannot be stored.
    """
    transitions.check_action_spec(environment_spec.actions)
    layout = replay_layout.ObservationLayout(environment_spec.observations)

    def columns(prefix: str) -> tuple[tf.TensorSpec, ...]:
        return tuple(
            tf.TensorSpec(column.item_shape, column.dtype, prefix + column.name)
            for column in layout.columns
        )

    return {
        "observation": columns(""),
        "next_observation": columns("next_"),
        "step": STEP,
    }


def make_tables(
    environment_spec: specs.EnvironmentSpec,
    limits: replay_limits.ReplayLimits,
    *,
    name: str = TABLE,
) -> list[reverb.Table]:
    """Builds the tables of a replay server: one, uniformly sampled, oldest out first.

    The number of steps that an item spans is the adder's business alone: items of any
    number look the same.

    Args:
        environment_spec: Of the environment whose transitions it holds.
        limits: Capacity, minimum and ratio.
        name: By which adders and batches know it.

    Raises:
        ValueError: Actions that cannot be stored.
    """
    return [
        reverb.Table(
            name=name,
            sampler=reverb.selectors.Uniform(),
            remover=reverb.selectors.Fifo(),
            max_size=limits.max_items,
            rate_limiter=_rate_limiter(limits),
            signature=signature(environment_spec),
        )
    ]


def _rate_limiter(limits: replay_limits.ReplayLimits) -> Any:
    if limits.samples_per_insert is None:
        return reverb.rate_limiters.MinSize(limits.min_items)
    return reverb.rate_limiters.SampleToInsertRatio(
        samples_per_insert=limits.samples_per_insert,
        min_size_to_sample=limits.min_items,
        error_buffer=float(limits.slack_samples),
    )
