"""Tests of rlcomponents.actors.epsilon_greedy."""

import collections

import dm_env
import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf
from acme import environment_loop as acme_environment_loop
from acme.tf import variable_utils
from acme.utils import loggers

from rlcomponents import core, schedules
from rlcomponents.actors import epsilon_greedy, q_values
from rlcomponents.environments import catch
from rlcomponents.parameters import local_store, tf_variables, update_rules
from rlcomponents.testing import fake_replay

OBSERVATION = np.zeros(2, np.float32)


def make_actor(epsilon, *, seed=0, **parts):
    return epsilon_greedy.EpsilonGreedyActor(
        lambda observation: np.array([0.0, 3.0, 1.0], np.float32),
        lambda: epsilon,
        np.random.default_rng(seed),
        **parts,
    )


def take(actor, num_actions):
    return [int(actor.select_action(OBSERVATION)) for _ in range(num_actions)]


def test_without_exploration_the_best_action_is_taken():
    assert take(make_actor(0.0), 20) == [1] * 20


def test_explores_with_every_action():
    counts = collections.Counter(take(make_actor(1.0), 3_000))
    assert sorted(counts) == [0, 1, 2]
    assert min(counts.values()) > 900


def test_actions_are_as_the_environment_and_replay_take_them():
    action = make_actor(0.0).select_action(OBSERVATION)
    assert isinstance(action, np.ndarray)
    assert (action.dtype, action.shape) == (np.int32, ())


def test_exploration_is_the_seeds():
    assert take(make_actor(1.0, seed=3), 20) == take(make_actor(1.0, seed=3), 20)
    assert take(make_actor(1.0, seed=3), 20) != take(make_actor(1.0, seed=4), 20)


def test_epsilon_is_asked_for_at_every_step():
    epsilons = iter([0.0, 0.5, 2.0])
    actor = epsilon_greedy.EpsilonGreedyActor(
        lambda observation: np.zeros(2, np.float32),
        lambda: next(epsilons),
        np.random.default_rng(0),
    )
    take(actor, 2)
    with pytest.raises(ValueError, match=r"epsilon is 2\.0"):
        actor.select_action(OBSERVATION)


def test_an_evaluating_actor_has_an_epsilon_of_its_own():
    values = np.array([0.0, 3.0, 1.0], np.float32)
    training, evaluating = (
        epsilon_greedy.EpsilonGreedyActor(
            lambda observation: values, schedule, np.random.default_rng(0)
        )
        for schedule in (lambda: 1.0, lambda: 0.0)
    )
    assert set(take(training, 100)) == {0, 1, 2}
    assert set(take(evaluating, 100)) == {1}


def test_experience_goes_to_the_adder():
    adder = fake_replay.RecordingAdder(discount=0.5)
    actor = make_actor(0.0, adder=adder)
    actor.observe_first(dm_env.restart(OBSERVATION))
    actor.observe(np.int32(2), dm_env.transition(1.5, OBSERVATION + 1))
    actor.observe(np.int32(0), dm_env.termination(-1.0, OBSERVATION + 2))
    assert [
        (t.observation[0], t.action, t.reward, t.discount, t.next_observation[0])
        for t in adder.transitions
    ] == [(0, 2, 1.5, 0.5, 1), (1, 0, -1.0, 0.0, 2)]


def test_without_an_adder_experience_is_dropped():
    actor = make_actor(0.0)
    actor.observe_first(dm_env.restart(OBSERVATION))
    actor.observe(np.int32(2), dm_env.termination(1.5, OBSERVATION))
    actor.update()


def test_updates_are_passed_on():
    waits = []
    actor = make_actor(0.0, update=waits.append)
    actor.update()
    actor.update(wait=True)
    assert waits == [False, True]


def make_catch_actor(adder=None, update=None, network=None, epsilon=0.5):
    environment = catch.Catch(catch.CatchSettings(rows=4, columns=3), seed=1)
    return environment, epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(
            network or snt.Sequential([snt.Flatten(), snt.Linear(3)]),
            environment.observation_spec(),
        ),
        lambda: epsilon,
        np.random.default_rng(0),
        adder=adder,
        update=update,
    )


def test_acmes_environment_loop_runs_the_actor():
    adder = fake_replay.RecordingAdder(discount=0.99)
    updates = []
    environment, actor = make_catch_actor(adder, updates.append)
    loop = acme_environment_loop.EnvironmentLoop(
        environment, actor, logger=loggers.NoOpLogger()
    )
    loop.run(num_episodes=5)
    assert [item.discount == 0 for item in adder.transitions] == [
        False,
        False,
        True,
    ] * 5
    assert {abs(float(item.reward)) for item in adder.transitions} == {0.0, 1.0}
    assert updates == [False] * 15


def test_acmes_variable_client_keeps_the_actor_fresh():
    network = snt.Sequential([snt.Flatten(), snt.Linear(3, with_bias=False)])
    network(tf.zeros([1, 4, 3]))
    variables = tf_variables.FlatVariables(network.trainable_variables)
    store = local_store.LocalStore(
        variables.layout,
        update_rules.SGD(),
        schedules.Constant(1.0),
        max_staleness_updates=None,
        target_period_updates=None,
    )
    store.initialise(np.zeros(36, np.float32))
    client = variable_utils.VariableClient(
        store, {core.PARAMETERS: network.trainable_variables}
    )
    environment, actor = make_catch_actor(
        update=client.update, network=network, epsilon=0.0
    )
    board = environment.reset().observation

    actor.update(wait=True)
    assert actor.select_action(board) == 0  # All values are 0: the first action.
    gradient = np.zeros((12, 3), np.float32)
    gradient[:, 2] = -1.0  # Raises the values of action 2.
    store.push(gradient.ravel(), store.pull().versions, 0)
    assert actor.select_action(board) == 0
    actor.update(wait=True)
    assert actor.select_action(board) == 2
