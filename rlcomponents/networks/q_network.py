"""Q-networks: from observation to the value of each action.

`make_network` picks a published architecture by name and fits it to an environment;
`QNetwork` takes a torso and a head of one's own. Either way the variables exist, with
values that depend on the seed only, when the constructor returns: so
`trainable_variables` is complete, in a fixed order, and the same in every process.
A target network is the same call again: two networks never share a variable.
"""

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf

from rlcomponents import names, specs
from rlcomponents.networks import (
    heads,
    in_numpy,
    initialisation,
    kinds,
    own_torso,
    torsos,
)


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
                networks would share them; or observations are not one array.
        """
        super().__init__(name=name)
        initialisation.check_unbuilt(torso, head)
        self._torso = torso
        self._head = head
        observations = specs.one_array(environment_spec.observations)
        self(tf.zeros([1, *observations.shape], observations.dtype))
        initialisation.initialise(self, seed)

    def __call__(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps observations `[B, ...]` to Q-values `[B, A]` float32."""
        return self._head(self._torso(observations))

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> in_numpy.Layer | None:
        """Returns the forward pass in NumPy; None where torso or head have none."""
        torso = in_numpy.convert(self._torso, array_of)
        head = in_numpy.convert(self._head, array_of)
        if torso is None or head is None:
            return None
        return in_numpy.sequence([torso, head])


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
        kind: One of `kinds.KINDS`. `nature_dqn`, `nips_dqn` and `minatar` are for
            observations `[H, W, C]`; `mlp` flattens any. Or a user's own torso, by
            name; see `own_torso`.
        environment_spec: With one observation array and discrete actions.
        dueling: Whether the last hidden layer is split into two streams, for the
            state and for the actions, each of the size that the kind has. Behind a
            user's own torso the streams are linear.
        mlp_hidden_sizes: Hidden layers of `mlp`, at least one.
        seed: Equal seeds give bit-identical values; see `initialisation`.

    Returns:
        A network whose variables share nothing with any other.

    Raises:
        ValueError: Unknown kind, or one that does not fit the environment.

    Reference:
        `kinds` names the paper of each kind; `heads` that of the dueling head.
    """
    kinds.check(kind, environment_spec)
    torso: snt.Module
    hidden_size: int | None
    if names.is_own(kind):
        torso, hidden_size = own_torso.make(kind, environment_spec), None
    elif kind == "mlp":
        kinds.check_hidden_sizes(mlp_hidden_sizes)
        *sizes, hidden_size = mlp_hidden_sizes
        torso = torsos.MLPTorso(sizes)
    else:
        convolutions, hidden_size = kinds.CONVOLUTIONAL[kind]
        torso = torsos.ConvTorso(convolutions)
    make_head = heads.DuelingHead if dueling else heads.QHead
    head = make_head(environment_spec.actions.num_values, hidden_size)
    return QNetwork(torso, head, environment_spec, seed=seed)
