"""Q-networks: from observation to the value of each action.

`make_network` picks a published architecture by name and fits it to an environment;
`QNetwork` takes a torso and a head of one's own. Either way the variables exist, with
values that depend on the seed only, when the constructor returns: so
`trainable_variables` is complete, in a fixed order, and the same in every process.
A target network is the same call again: two networks never share a variable.
"""

import difflib
from collections.abc import Sequence

import numpy as np
import sonnet as snt
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import heads, initialisation, torsos

_CONVOLUTIONAL = {  # Kind: convolutions, size of the last hidden layer.
    "nature_dqn": (torsos.NATURE_DQN, 512),
    "nips_dqn": (torsos.NIPS_DQN, 256),
    "minatar": (torsos.MINATAR, 128),
}

KINDS = (*_CONVOLUTIONAL, "mlp")
"""What `make_network` can build."""


class QNetwork(snt.Module):
    """A torso and a head, built and initialised for one environment."""

    def __init__(
        self,
        torso: snt.Module,
        head: snt.Module,
        environment_spec: specs.EnvironmentSpec,
        *,
        seed: int,
        name: str | None = None,
    ) -> None:
        """Creates the variables by one call, then initialises them from the seed.

        Args:
            torso: Maps observations `[B, ...]` to features `[B, F]` float32.
            head: Maps features to Q-values `[B, A]` float32.
            environment_spec: Of one observation, without the batch.
            seed: Equal seeds give bit-identical values; see `initialisation`.
            name: Name of the module.

        Raises:
            ValueError: The torso or the head has variables already, so that two
                networks would share them.
        """
        super().__init__(name=name)
        for part in (torso, head):
            # Without the marker, Sonnet raises where there are none.
            if snt.allow_empty_variables(part).variables:
                raise ValueError(
                    f"{part.name} has variables already: two networks would share "
                    "them; construct a torso and a head for each network."
                )
        self._torso = torso
        self._head = head
        observations = environment_spec.observations
        self(tf.zeros([1, *observations.shape], observations.dtype))
        initialisation.initialise(self, seed)

    def __call__(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps observations `[B, ...]` to Q-values `[B, A]` float32."""
        return self._head(self._torso(observations))


def make_network(
    kind: str,
    environment_spec: specs.EnvironmentSpec,
    *,
    dueling: bool = False,
    mlp_hidden_sizes: Sequence[int] = (128, 128),
    seed: int,
) -> QNetwork:
    """Builds a Q-network of a named kind for an environment.

    Images come as uint8 and are scaled to [0, 1] inside; bool becomes 0 and 1; floats
    pass as they are. All hidden layers have ReLUs. Convolutions have no padding.

    Args:
        kind: One of `KINDS`. `nature_dqn`, `nips_dqn` and `minatar` are for
            observations `[H, W, C]`; `mlp` flattens any.
        environment_spec: With one observation array and discrete actions.
        dueling: Whether the last hidden layer is split into two streams, for the
            state and for the actions, each of the size that the kind has.
        mlp_hidden_sizes: Hidden layers of `mlp`, at least one.
        seed: Equal seeds give bit-identical values; see `initialisation`.

    Returns:
        A network whose variables share nothing with any other.

    Raises:
        ValueError: Unknown kind, or one that does not fit the environment.

    Reference:
        `torsos` names the paper of each kind; `heads` that of the dueling head.
    """
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS) or KINDS
        raise ValueError(
            f"Unknown network {kind!r}: use {' or '.join(map(repr, near))}."
        )
    _check_observations(environment_spec.observations)
    actions = environment_spec.actions
    if not isinstance(actions, dm_env_specs.DiscreteArray):
        raise ValueError(
            f"The actions are {actions}: a Q-network values each of a finite number of "
            "actions; give an environment with a DiscreteArray action spec."
        )
    if kind == "mlp":
        if not mlp_hidden_sizes or min(mlp_hidden_sizes) < 1:
            raise ValueError(
                f"mlp_hidden_sizes is {tuple(mlp_hidden_sizes)}: give at least one "
                "size, each at least 1."
            )
        *sizes, hidden_size = mlp_hidden_sizes
        torso: snt.Module = torsos.MLPTorso(sizes)
    else:
        _check_images(kind, environment_spec.observations)
        convolutions, hidden_size = _CONVOLUTIONAL[kind]
        torso = torsos.ConvTorso(convolutions)
    make_head = heads.DuelingHead if dueling else heads.QHead
    head = make_head(actions.num_values, hidden_size)
    return QNetwork(torso, head, environment_spec, seed=seed)


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


def _check_observations(observations: dm_env_specs.Array) -> None:
    """Refuses observations that no network here can take."""
    if not isinstance(observations, dm_env_specs.Array):
        raise ValueError(
            f"The observations are a {type(observations).__name__}: these networks "
            "take one array; let a wrapper pick or concatenate the parts."
        )
    dtype = observations.dtype
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
    convolutions, _ = _CONVOLUTIONAL[kind]
    height, width, _ = images.shape
    return torsos.output_size(convolutions, min(height, width)) >= 1


def _no_channels(observations: dm_env_specs.Array) -> str:
    return (
        f"The observations have shape {observations.shape} and no channel axis: return "
        "images [H, W, C] (for one channel [H, W, 1], or stack frames along the last "
        "axis), or ask for 'mlp' to have them flattened."
    )
