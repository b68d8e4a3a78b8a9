"""Tests of rlcomponents.actors.policy_actor."""

import dm_env
import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.actors import policy_actor
from rlcomponents.networks import actor_critic
from rlcomponents.parameters import tf_variables

DISCRETE = dm_env_specs.DiscreteArray(3)
CONTINUOUS = dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0)
FIRST = dm_env.restart(np.zeros(4, np.float32))


def make_network(actions=DISCRETE, *, recurrent=False):
    spec = specs.EnvironmentSpec(
        observations=dm_env_specs.Array((4,), np.float32),
        actions=actions,
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )
    return actor_critic.make_actor_critic(
        "mlp", spec, recurrent=recurrent, lstm_size=8, mlp_hidden_sizes=(8,), seed=1
    )


def make_actor(network, *, greedy=False, seed=0, variables=None):
    return policy_actor.PolicyActor(
        network, np.random.default_rng(seed), greedy=greedy, variables=variables
    )


def observations(num_steps):
    return np.random.default_rng(5).normal(size=(num_steps, 4)).astype(np.float32)


def logits(network, rollout):
    """What the network says of a rollout that begins an episode."""
    is_first = np.zeros((len(rollout), 1), bool)
    is_first[0] = True
    policy, _, _ = network.unroll(rollout[:, None], is_first, network.initial_state(1))
    return policy.logits.numpy()[:, 0]


def test_the_greedy_actor_takes_the_likeliest_action():
    network = make_network()
    actor = make_actor(network, greedy=True)
    seen = observations(20)
    actions = [actor.select_action(each) for each in seen]
    assert {action.dtype for action in actions} == {np.dtype(np.int32)}
    assert {action.shape for action in actions} == {()}
    assert actions == np.argmax(logits(network, seen), axis=-1).tolist()


def test_else_actions_are_drawn_as_often_as_the_policy_says():
    network = make_network()
    actor = make_actor(network)
    seen = observations(1)[0]
    draws = np.bincount([actor.select_action(seen) for _ in range(3_000)], minlength=3)
    exponentials = np.exp(logits(network, seen[None])[0])
    np.testing.assert_allclose(
        draws / 3_000, exponentials / exponentials.sum(), atol=0.03
    )


def test_equal_seeds_draw_equal_actions():
    network = make_network()
    seen = observations(30)
    first, second, other = (
        [int(actor.select_action(each)) for each in seen]
        for actor in (make_actor(network, seed=seed) for seed in (1, 1, 2))
    )
    assert first == second != other


def test_continuous_actions_are_vectors_and_the_likeliest_is_the_mean():
    network = make_network(CONTINUOUS)
    seen = observations(1)
    policy, _, _ = network.unroll(seen[None], np.ones((1, 1), bool), ())
    action = make_actor(network, greedy=True).select_action(seen[0])
    assert (action.shape, action.dtype) == ((2,), np.float32)
    np.testing.assert_allclose(action, policy.mean[0, 0], rtol=1e-6)
    drawn = make_actor(network).select_action(seen[0])
    assert np.all(drawn != action)


@pytest.mark.parametrize("in_numpy", [False, True])
@pytest.mark.parametrize("recurrent", [False, True])
def test_memory_is_carried_over_steps_and_lost_between_episodes(recurrent, in_numpy):
    network = make_network(recurrent=recurrent)
    variables = tf_variables.FlatVariables(network.trainable_variables)
    actor = make_actor(network, variables=variables if in_numpy else None)
    policies = []
    step = actor._unroll

    def noting(*arguments):
        results = step(*arguments)
        policies.append(results[0].logits[0])
        return results

    actor._unroll = noting
    seen = observations(6)
    for each in (seen[:4], seen[4:]):  # Two episodes.
        actor.observe_first(FIRST)
        for observation in each:
            actor.select_action(observation)
    expected = np.concatenate([logits(network, seen[:4]), logits(network, seen[4:])])
    np.testing.assert_allclose(policies, expected, rtol=1e-5, atol=1e-6)
    as_one = logits(network, seen)
    assert np.allclose(policies[5], as_one[5], atol=1e-6) == (not recurrent)


def test_new_parameters_count_at_once():
    network = make_network()
    actor = make_actor(network, greedy=True)
    seen = observations(1)[0]
    before = int(actor.select_action(seen))
    [bias] = [v for v in network.trainable_variables if "logits/b" in v.name]
    bias.assign(100.0 * np.eye(3)[(before + 1) % 3])
    assert actor.select_action(seen) == (before + 1) % 3
