"""Actor-critic networks: from a rollout to a policy and the value of each state.

`make_actor_critic` picks a published architecture by name and fits it to an
environment, discrete or continuous; `DiscreteActorCritic` and `ContinuousActorCritic`
take bodies of one's own. All have one interface, for acting (T = 1) and for learning:

    state = network.initial_state(batch_size)
    policy, values, state = network.unroll(observations, is_first, state)

The variables exist, with values that depend on the seed only, when the constructor
returns: see `q_network`, which does the same.
"""

from collections.abc import Callable, Sequence

import numpy as np
import sonnet as snt
import tensorflow as tf

from rlcomponents import names, specs
from rlcomponents.networks import (
    bodies,
    in_numpy,
    initialisation,
    kinds,
    own_torso,
    policies,
    torsos,
)

MINIMUM_VARIANCE = 1e-4
"""Added to the variance of continuous policies: a density has to stay finite."""

ArrayStep = Callable[
    [np.ndarray, np.ndarray, bodies.ArrayState],
    tuple[policies.Policy, np.ndarray, bodies.ArrayState],
]
"""One step of a network in NumPy: maps observations `[B, ...]`, `is_first` `[B]` and a
state to a policy of arrays, values `[B]` and the next state."""


class DiscreteActorCritic(snt.Module):
    """A softmax policy and a value, each one linear layer on the same body.

    Reference:
        Mnih et al. 2016, section 4. https://arxiv.org/abs/1602.01783
    """

    def __init__(
        self,
        body: bodies.Body,
        environment_spec: specs.EnvironmentSpec,
        *,
        seed: int,
        name: str | None = None,
    ) -> None:
        """Creates the variables by one call, then initialises them from the seed.

        Args:
            body: Maps rollouts to features.
            environment_spec: With a DiscreteArray as its actions.
            seed: Equal seeds give bit-identical values; see `initialisation`.
            name: Name of the module.

        Raises:
            ValueError: The body has variables already, or observations are not one
                array.
        """
        super().__init__(name=name)
        initialisation.check_unbuilt(body)
        self._body = body
        num_actions = environment_spec.actions.num_values
        self._logits = snt.Linear(num_actions, name="logits")
        self._value = snt.Linear(1, name="value")
        _build(self, environment_spec, seed)

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: bodies.State
    ) -> tuple[policies.Softmax, tf.Tensor, bodies.State]:
        """Goes through a rollout.

        Args:
            observations: `[T, B, ...]`.
            is_first: `[T, B]` bool, whether an episode starts with that observation.
                Ignored by feed-forward networks.
            state: As `initial_state` or the last `unroll` returned it.

        Returns:
            The policy in each state, `[T, B, A]`; the value of each, `[T, B]` float32;
            and the state after the last step.
        """
        features, next_state = self._body.unroll(observations, is_first, state)
        values = tf.squeeze(snt.BatchApply(self._value)(features), axis=-1)
        logits = snt.BatchApply(self._logits)(features)
        return policies.Softmax(logits), values, next_state

    def initial_state(self, batch_size: int) -> bodies.State:
        """Returns the state of `batch_size` environments; `()` without a memory."""
        return self._body.initial_state(batch_size)

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> ArrayStep | None:
        """Returns one step in NumPy; None where the body has none."""
        body = in_numpy.convert(self._body, array_of)
        if body is None:
            return None
        to_logits = in_numpy.Linear(self._logits, array_of, relu=False)
        to_value = in_numpy.Linear(self._value, array_of, relu=False)

        def step(
            observations: np.ndarray, is_first: np.ndarray, state: bodies.ArrayState
        ) -> tuple[policies.Softmax, np.ndarray, bodies.ArrayState]:
            features, next_state = body(observations, is_first, state)
            logits = to_logits(features)
            return policies.Softmax(logits), to_value(features)[:, 0], next_state

        return step


class ContinuousActorCritic(snt.Module):
    """A Gaussian policy and a value that share no parameter.

        mu      = linear(policy features)             of D dimensions
        sigma^2 = softplus(linear(policy features))   one number for all of them
        V       = linear(value features)

    The state is that of the policy's body followed by that of the value's.

    Reference:
        Mnih et al. 2016, section 9 of the supplement.
        https://arxiv.org/abs/1602.01783. Differs: `MINIMUM_VARIANCE` is added to
        sigma^2.
    """

    def __init__(
        self,
        policy_body: bodies.Body,
        value_body: bodies.Body,
        environment_spec: specs.EnvironmentSpec,
        *,
        seed: int,
        name: str | None = None,
    ) -> None:
        """Creates the variables by one call, then initialises them from the seed.

        Args:
            policy_body: Maps rollouts to features for the policy.
            value_body: Maps rollouts to features for the value.
            environment_spec: Its actions are a vector of floats.
            seed: Equal seeds give bit-identical values; see `initialisation`.
            name: Name of the module.

        Raises:
            ValueError: A body has variables already, or both are one, or observations
                are not one array.
        """
        super().__init__(name=name)
        initialisation.check_unbuilt(policy_body, value_body)
        self._policy_body = policy_body
        self._value_body = value_body
        (num_dimensions,) = environment_spec.actions.shape
        self._mean = snt.Linear(num_dimensions, name="mean")
        self._variance = snt.Linear(1, name="variance")
        self._value = snt.Linear(1, name="value")
        _build(self, environment_spec, seed)

    def unroll(
        self, observations: tf.Tensor, is_first: tf.Tensor, state: bodies.State
    ) -> tuple[policies.Gaussian, tf.Tensor, bodies.State]:
        """Goes through a rollout.

        Args:
            observations: `[T, B, ...]`.
            is_first: `[T, B]` bool, whether an episode starts with that observation.
                Ignored by feed-forward networks.
            state: As `initial_state` or the last `unroll` returned it.

        Returns:
            The policy in each state, with a mean `[T, B, D]` and a variance `[T, B]`;
            the value of each, `[T, B]` float32; and the state after the last step.
        """
        num_of_policy = len(self._policy_body.initial_state(1))
        features, policy_state = self._policy_body.unroll(
            observations, is_first, state[:num_of_policy]
        )
        value_features, value_state = self._value_body.unroll(
            observations, is_first, state[num_of_policy:]
        )
        mean = snt.BatchApply(self._mean)(features)
        variance = tf.nn.softplus(snt.BatchApply(self._variance)(features))
        values = snt.BatchApply(self._value)(value_features)
        return (
            policies.Gaussian(mean, tf.squeeze(variance, axis=-1) + MINIMUM_VARIANCE),
            tf.squeeze(values, axis=-1),
            policy_state + value_state,
        )

    def initial_state(self, batch_size: int) -> bodies.State:
        """Returns the state of `batch_size` environments; `()` without a memory."""
        return self._policy_body.initial_state(
            batch_size
        ) + self._value_body.initial_state(batch_size)

    def in_numpy(self, array_of: in_numpy.ArrayOf) -> ArrayStep | None:
        """Returns one step in NumPy; None where a body has none."""
        policy_body = in_numpy.convert(self._policy_body, array_of)
        value_body = in_numpy.convert(self._value_body, array_of)
        if policy_body is None or value_body is None:
            return None
        num_of_policy = len(self._policy_body.initial_state(1))
        to_mean = in_numpy.Linear(self._mean, array_of, relu=False)
        to_variance = in_numpy.Linear(self._variance, array_of, relu=False)
        to_value = in_numpy.Linear(self._value, array_of, relu=False)

        def step(
            observations: np.ndarray, is_first: np.ndarray, state: bodies.ArrayState
        ) -> tuple[policies.Gaussian, np.ndarray, bodies.ArrayState]:
            features, policy_state = policy_body(
                observations, is_first, state[:num_of_policy]
            )
            value_features, value_state = value_body(
                observations, is_first, state[num_of_policy:]
            )
            variance = np.logaddexp(to_variance(features)[:, 0], np.float32(0))
            return (
                policies.Gaussian(
                    to_mean(features), variance + np.float32(MINIMUM_VARIANCE)
                ),
                to_value(value_features)[:, 0],
                policy_state + value_state,
            )

        return step


ActorCritic = DiscreteActorCritic | ContinuousActorCritic
"""What A3C takes: either of the two, with one interface."""


def make_actor_critic(
    kind: str,
    environment_spec: specs.EnvironmentSpec,
    *,
    recurrent: bool,
    lstm_size: int | None = None,
    mlp_hidden_sizes: Sequence[int] | None = None,
    seed: int,
) -> ActorCritic:
    """Builds an actor-critic network of a named kind for an environment.

    Observations are treated as by `q_network.make_network`, all hidden layers have
    ReLUs. The kind's layers, its last hidden one included, are shared by policy and
    value where actions are discrete, and there are two sets of them where they are
    continuous. LSTM cells come after the last hidden layer.

    Args:
        kind: One of `kinds.KINDS`, or a user's own torso by name; see `own_torso`.
        environment_spec: With one observation array; its actions, discrete or a
            vector of floats, decide on the kind of policy.
        recurrent: Whether there are LSTM cells.
        lstm_size: How many. None: 256 for discrete actions, 128 for continuous ones,
            as in the paper. Without effect unless `recurrent`.
        mlp_hidden_sizes: Hidden layers of `mlp`, at least one. None: (128, 128) for
            discrete actions. For continuous ones (200,) before LSTM cells, as in the
            paper, and (200, 128) without: a layer in place of the cells.
        seed: Equal seeds give bit-identical values; see `initialisation`.

    Returns:
        A network whose variables share nothing with any other.

    Raises:
        ValueError: Unknown kind, one that does not fit the environment, or a size
            below 1.

    Reference:
        Mnih et al. 2016, sections 5.1 (LSTM) and 9 (continuous actions).
        https://arxiv.org/abs/1602.01783. Differs: the paper's continuous control from
        pixels has convolutions of its own, without nonlinearities.
    """
    kinds.check_actor_critic(kind, environment_spec)
    is_discrete = kinds.is_discrete(environment_spec)
    if mlp_hidden_sizes is None:
        if is_discrete:
            mlp_hidden_sizes = (128, 128)
        else:
            mlp_hidden_sizes = (200,) if recurrent else (200, 128)
    kinds.check_hidden_sizes(mlp_hidden_sizes)
    if lstm_size is None:
        lstm_size = 256 if is_discrete else 128

    def make_body(name: str) -> bodies.Body:
        with tf.name_scope(name):  # Two torsos have different names.
            torso = _make_torso(kind, environment_spec, mlp_hidden_sizes)
        if recurrent:
            return bodies.RecurrentBody(torso, lstm_size, name=name)
        return bodies.FeedForwardBody(torso, name=name)

    if is_discrete:
        return DiscreteActorCritic(make_body("body"), environment_spec, seed=seed)
    return ContinuousActorCritic(
        make_body("policy_body"), make_body("value_body"), environment_spec, seed=seed
    )


def _build(
    network: ActorCritic, environment_spec: specs.EnvironmentSpec, seed: int
) -> None:
    """Creates a network's variables by a rollout of one step, and initialises them."""
    observations = specs.one_array(environment_spec.observations)
    network.unroll(
        tf.zeros([1, 1, *observations.shape], observations.dtype),
        tf.ones([1, 1], tf.bool),
        network.initial_state(1),
    )
    initialisation.initialise(network, seed)


def _make_torso(
    kind: str,
    environment_spec: specs.EnvironmentSpec,
    mlp_hidden_sizes: Sequence[int],
) -> snt.Module:
    """Makes the hidden layers of a kind, the last one included."""
    if names.is_own(kind):
        return own_torso.make(kind, environment_spec)
    if kind == "mlp":
        return torsos.MLPTorso(mlp_hidden_sizes)
    convolutions, hidden_size = kinds.CONVOLUTIONAL[kind]
    return torsos.HiddenTorso(
        torsos.ConvTorso(convolutions), snt.Linear(hidden_size, name="hidden")
    )
