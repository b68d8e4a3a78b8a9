"""Tests of torsos that users bring by name."""

import importlib
import re
import sys

import numpy as np
import pytest
import tensorflow as tf
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import actor_critic, own_torso, q_network

TORSOS = """
import sonnet as snt
import tensorflow as tf


class Residual(snt.Module):
    def __init__(self, size):
        super().__init__()
        self._first, self._second = snt.Linear(size), snt.Linear(size)

    def __call__(self, observations):
        first = tf.nn.relu(self._first(snt.flatten(observations)))
        return first + tf.nn.relu(self._second(first))


class Switching(Residual):
    def __call__(self, observations):
        features = super().__call__(observations)
        return features if tf.reduce_sum(observations) > 0 else -features


def make(environment_spec):
    return Residual(environment_spec.observations.shape[0] + 2)

def make_flat(environment_spec):
    return snt.Flatten()

def make_nothing(environment_spec):
    pass

def make_from_nothing():
    pass

SHARED = Residual(3)

def make_shared(environment_spec):
    return SHARED

def make_pictures(environment_spec):
    return snt.Conv2D(3, 3)

def make_unflattened(environment_spec):
    return snt.Sequential([snt.Flatten(), lambda x: x[:, :, tf.newaxis]])

def make_doubles(environment_spec):
    return snt.Sequential([snt.Flatten(), lambda x: tf.cast(x, tf.float64)])

def make_summed(environment_spec):
    return snt.Sequential([snt.Flatten(), lambda x: tf.reduce_sum(x, axis=1)])

def make_empty(environment_spec):
    return snt.Sequential([snt.Flatten(), lambda x: x[:, :0]])

class Graph(Residual):
    @tf.function
    def __call__(self, observations):
        return tf.matmul(observations, tf.zeros([7, 7]))

def make_graph(environment_spec):
    return Graph(3)

def make_asserting(environment_spec):
    assert environment_spec is None

def make_one_row(environment_spec):
    return snt.Sequential([snt.Flatten(), lambda x: tf.reshape(x, [1, -1])])

def make_normalised(environment_spec):
    return snt.Sequential([snt.Flatten(), snt.LayerNorm(1, True, True)])

def make_switching(environment_spec):
    return Switching(3)
"""

NAME = "module:users_torsos:make"


@pytest.fixture(autouse=True)
def users_torsos(tmp_path, monkeypatch):
    """Puts the user's module into the current directory."""
    (tmp_path / "users_torsos.py").write_text(TORSOS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    importlib.invalidate_caches()
    yield
    sys.modules.pop("users_torsos", None)


def environment_spec(actions=None, *, dtype=np.float32):
    return specs.EnvironmentSpec(
        observations=dm_env_specs.Array((4, 5), dtype),
        actions=actions or dm_env_specs.DiscreteArray(3),
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )


def vector(network):
    return np.concatenate([v.numpy().ravel() for v in network.trainable_variables])


@pytest.mark.parametrize("name", [NAME, "module:users_torsos:make_flat"])
def test_a_torso_that_fits_is_taken(name):
    own_torso.check(name, environment_spec())


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (
            "make_nothing",
            "make_nothing returned a NoneType: it must be a function that",
        ),
        (
            "make_from_nothing",
            "raised TypeError: make_from_nothing() takes 0",
        ),
        ("make_shared", "residual has variables already, or is two parts at once"),
        ("make_pictures", "make_pictures raised ValueError: Shape (2, 4, 5) must"),
        ("make_unflattened", "of 2 observations: it must make features [B, F] float32"),
        ("make_doubles", "of 2 observations: it must make features [B, F] float32"),
        ("make_empty", "a tensor of float32 and shape (2, 0) of 2 observations"),
        ("make_graph", "make_graph raised ValueError: Dimensions must be equal, but"),
        ("make_asserting", "make_asserting raised AssertionError (/"),
        ("make_one_row", "a tensor of float32 and shape (1, 40) of 2 observations"),
        ("make_summed", "of 2 observations: it must make features [B, F] float32"),
        ("make_normalised", "0 of them in Linear, Conv2D and LSTM layers"),
        ("make_switching", "OperatorNotAllowedInGraphError: Using a symbolic"),
        ("mak", "module 'users_torsos' has no 'mak' (did you mean 'make'"),
        ("SHARED_SIZE", "module 'users_torsos' has no 'SHARED_SIZE'"),
        ("__doc__", "'__doc__' is a NoneType; it must be a function that takes an Env"),
    ],
)
def test_a_torso_that_does_not_fit_is_refused_in_one_sentence(function, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        own_torso.check(f"module:users_torsos:{function}", environment_spec())
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [("def make(:", "SyntaxError: invalid"), ("size = sise", "NameError: name 'sise'")],
)
def test_a_module_with_a_slip_is_refused_with_the_place(tmp_path, code, error):
    (tmp_path / "slip.py").write_text(code)
    importlib.invalidate_caches()
    sentence = rf"^module:slip:make raised {error}.*slip\.py, line 1\)$"
    with pytest.raises(ValueError, match=sentence):
        own_torso.check("module:slip:make", environment_spec())


def test_a_module_that_is_not_there_is_refused():
    with pytest.raises(ModuleNotFoundError, match="no module 'gone' in the current"):
        own_torso.check("module:gone:make", environment_spec())


# -------------------------------------------------------------------- inside a network


@pytest.mark.parametrize("dueling", [False, True])
def test_q_values_are_linear_in_the_features(dueling):
    network = q_network.make_network(NAME, environment_spec(), dueling=dueling, seed=1)
    # The torso: 20 -> 6 -> 6. The head: 6 -> 3; dueling, 6 -> 1 as well.
    torso = (20 + 1) * 6 + (6 + 1) * 6
    head = (6 + 1) * 3 + ((6 + 1) * 1 if dueling else 0)
    assert vector(network).size == torso + head
    assert network(tf.ones([5, 4, 5])).shape == (5, 3)


def test_nodes_build_equal_networks_that_share_nothing():
    online, target, other = (
        q_network.make_network(NAME, environment_spec(), seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(vector(online), vector(target))
    assert not np.array_equal(vector(online), vector(other))
    online.trainable_variables[0].assign_add(
        tf.ones_like(online.trainable_variables[0])
    )
    assert not np.array_equal(vector(online), vector(target))


def test_gradients_reach_the_torso():
    network = q_network.make_network(NAME, environment_spec(), seed=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(tf.ones([2, 4, 5])))
    gradients = tape.gradient(loss, network.trainable_variables)
    assert all(gradient is not None for gradient in gradients)
    assert all(np.any(gradient.numpy() != 0) for gradient in gradients)


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize(
    "actions",
    [
        dm_env_specs.DiscreteArray(3),
        dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0),
    ],
    ids=["discrete", "continuous"],
)
def test_actor_critics_have_it_before_the_cells(actions, recurrent):
    network = actor_critic.make_actor_critic(
        NAME, environment_spec(actions), recurrent=recurrent, lstm_size=7, seed=1
    )
    torso = (20 + 1) * 6 + (6 + 1) * 6
    features = 7 if recurrent else 6
    body = torso + (4 * 7 * (6 + 7 + 1) if recurrent else 0)
    if isinstance(actions, dm_env_specs.DiscreteArray):
        expected = body + (features + 1) * 3 + (features + 1)
    else:  # A body each for the policy, two means and one variance, and the value.
        expected = 2 * body + (features + 1) * 3 + (features + 1)
    assert vector(network).size == expected
