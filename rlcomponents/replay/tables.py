"""Reverb tables of transitions.

An item has three parts: `observation` and `next_observation`, one entry a column of the
layout, and `step`, `[3]` float32: action, reward and discount. These three are packed
because each value that is stored by itself costs Reverb about 1 KB of bookkeeping, more
than a compressed frame of many games.
"""

from collections.abc import Mapping
from typing import Any

import reverb
import tensorflow as tf
import tree

from rlcomponents import specs
from rlcomponents.replay import layout as replay_layout
from rlcomponents.replay import limits as replay_limits
from rlcomponents.replay import transitions

TABLE = "transitions"
"""Name of the one table of a server."""

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


def check_served(
    served: Mapping[str, Any], name: str, given: Any, address: str
) -> None:
    """Checks that items of a signature fit a table that a server has.

    Args:
        served: What the server says of each of its tables.
        name: Of the table.
        given: Signature of the items.
        address: Of the server, for messages.

    Raises:
        ValueError: There is no such table, or it is of another environment.
    """
    if name not in served:
        raise ValueError(
            f"The replay server at {address} has no table {name!r}; it has "
            f"{', '.join(sorted(served))}."
        )
    expected = served[name].signature
    if _described(expected) != _described(given):
        raise ValueError(
            f"Table {name!r} at {address} was made for another environment; expected "
            f"{_described(expected)}, given {_described(given)}."
        )


def _described(signature: Any) -> str:
    return ", ".join(
        f"{'/'.join(map(str, path))} {leaf.dtype.name}{leaf.shape.as_list()}"
        for path, leaf in tree.flatten_with_path(signature)
    )


def _rate_limiter(limits: replay_limits.ReplayLimits) -> Any:
    if limits.samples_per_insert is None:
        return reverb.rate_limiters.MinSize(limits.min_items)
    return reverb.rate_limiters.SampleToInsertRatio(
        samples_per_insert=limits.samples_per_insert,
        min_size_to_sample=limits.min_items,
        error_buffer=float(limits.slack_samples),
    )
