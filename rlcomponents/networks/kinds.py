"""Which kinds of network there are, and which environments each of them fits.

No TensorFlow here: whoever builds a program can refuse a network that does not fit
before any process starts. A torso of a user's own, `module:package.module:make_torso`,
is a kind, too; `own_torso` looks whether it fits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from dm_env import specs as dm_env_specs

from rlcomponents import names, specs


class Convolution(NamedTuple):
    """One square convolution without padding, followed by a ReLU.

    Attributes:
        channels: Number of filters.
        kernel: Height and width of a filter, in pixels.
        stride: In pixels, both ways.
    """

    channels: int
    kernel: int
    stride: int


NATURE_DQN = (Convolution(32, 8, 4), Convolution(64, 4, 2), Convolution(64, 3, 1))
"""Mnih et al. 2015, https://doi.org/10.1038/nature14236; then 512 hidden units."""

NIPS_DQN = (Convolution(16, 8, 4), Convolution(32, 4, 2))
"""Mnih et al. 2013, https://arxiv.org/abs/1312.5602; then 256 hidden units."""

MINATAR = (Convolution(16, 3, 1),)
"""Young and Tian 2019, https://arxiv.org/abs/1903.03176; then 128 hidden units."""

CONVOLUTIONAL = {  # Kind: convolutions, size of the last hidden layer.
    "nature_dqn": (NATURE_DQN, 512),
    "nips_dqn": (NIPS_DQN, 256),
    "minatar": (MINATAR, 128),
}
"""Kinds for observations `[H, W, C]`."""

KINDS = (*CONVOLUTIONAL, "mlp")
"""All kinds; `mlp` flattens any observation."""


def check(kind: str, environment_spec: specs.EnvironmentSpec) -> None:
    """Checks that a Q-network of this kind can value what an environment shows.

    Raises:
        ValueError: Unknown kind, or one that does not fit the environment.
    """
    _check_kind(kind, environment_spec.observations)
    if not is_discrete(environment_spec):
        raise ValueError(
            f"The actions are {environment_spec.actions}: a Q-network values each of a "
            "finite number of actions; give an environment with a DiscreteArray action "
            "spec."
        )


def check_actor_critic(kind: str, environment_spec: specs.EnvironmentSpec) -> None:
    """Checks that an actor-critic network of this kind can play an environment.

    Raises:
        ValueError: Unknown kind, or one that does not fit the environment; or the
            actions are neither discrete and numbered from 0 nor a vector of floats.
    """
    _check_kind(kind, environment_spec.observations)
    actions = environment_spec.actions
    if not is_discrete(environment_spec) and not _is_float_vector(actions):
        raise ValueError(
            f"The actions are {actions}: an actor-critic network has a policy for a "
            "DiscreteArray and one for a vector [D] of floats; let a wrapper turn the "
            "actions into one of these."
        )


def is_discrete(environment_spec: specs.EnvironmentSpec) -> bool:
    """Whether the actions are numbers from 0."""
    return isinstance(environment_spec.actions, dm_env_specs.DiscreteArray)


def check_hidden_sizes(mlp_hidden_sizes: Sequence[int]) -> None:
    """Checks the hidden layers of an `mlp`.

    Raises:
        ValueError: There are none, or one without units.
    """
    if not mlp_hidden_sizes or min(mlp_hidden_sizes) < 1:
        raise ValueError(
            f"mlp_hidden_sizes is {tuple(mlp_hidden_sizes)}: give at least one size, "
            "each at least 1."
        )


def default_kind(environment_spec: specs.EnvironmentSpec) -> str:
    """Names the network that fits the shape of an environment's observations.

    Args:
        environment_spec: With one observation array.

    Returns:
        For images `[H, W, C]`, `nature_dqn` if they are large enough for it (36 x 36),
        else `minatar` (3 x 3). For anything else `mlp`.

    Raises:
        ValueError: A uint8 image has no channel axis: an MLP would flatten it.
    """
    observations = environment_spec.observations
    _check_observations(observations)
    if observations.dtype == np.uint8 and len(observations.shape) == 2:
        raise ValueError(_no_channels(observations))
    if len(observations.shape) == 3:
        for kind in ("nature_dqn", "minatar"):
            if _is_large_enough(kind, observations):
                return kind
    return "mlp"


def output_size(convolutions: Sequence[Convolution], size: int) -> int:
    """Returns the height (or width) after the convolutions; below 1: too small."""
    for layer in convolutions:
        size = (size - layer.kernel) // layer.stride + 1
    return size


def _check_kind(kind: str, observations: dm_env_specs.Array) -> None:
    """Refuses unknown kinds, and observations that the kind cannot take."""
    if names.is_own(kind):
        specs.one_array(observations)
        return
    if kind not in KINDS:
        raise ValueError(
            f"Unknown network {kind!r}{names.near(kind, KINDS)}: use one of "
            f"{', '.join(KINDS)}, or a torso of your own by "
            "'module:package.module:make_torso'."
        )
    _check_observations(observations)
    if kind in CONVOLUTIONAL:
        _check_images(kind, observations)


def _is_float_vector(spec: dm_env_specs.Array) -> bool:
    """Whether the spec is one array `[D]` of floats, D at least 1."""
    return (
        isinstance(spec, dm_env_specs.Array)
        and np.issubdtype(spec.dtype, np.floating)
        and len(spec.shape) == 1
        and spec.shape[0] > 0
    )


def _check_observations(observations: dm_env_specs.Array) -> None:
    """Refuses observations that no network here can take."""
    dtype = specs.one_array(observations).dtype
    if dtype not in (np.uint8, bool) and not np.issubdtype(dtype, np.floating):
        raise ValueError(
            f"The observations are {dtype.name}: give uint8 (scaled to [0, 1]), bool, "
            "or a float type in a range of your choice."
        )


def _check_images(kind: str, observations: dm_env_specs.Array) -> None:
    """Refuses observations that a convolutional kind cannot take."""
    if len(observations.shape) == 2:
        raise ValueError(_no_channels(observations))
    if len(observations.shape) != 3:
        raise ValueError(
            f"{kind!r} takes images [H, W, C] and the observations have shape "
            f"{observations.shape}: use 'mlp'."
        )
    if not _is_large_enough(kind, observations):
        raise ValueError(
            f"{kind!r} shrinks observations of shape {observations.shape} to nothing: "
            "use 'minatar', 'mlp' or larger images."
        )


def _is_large_enough(kind: str, images: dm_env_specs.Array) -> bool:
    """Whether anything is left of images `[H, W, C]` after the convolutions."""
    convolutions, _ = CONVOLUTIONAL[kind]
    height, width, _ = images.shape
    return output_size(convolutions, min(height, width)) >= 1


def _no_channels(observations: dm_env_specs.Array) -> str:
    return (
        f"The observations have shape {observations.shape} and no channel axis: return "
        "images [H, W, C], for one channel [H, W, 1] (environments.wrappers.FrameStack "
        "makes them of one frame or several), or ask for 'mlp' to have them flattened."
    )
