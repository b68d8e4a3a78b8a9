"""A3C's gradient, and 200 updates against a transcription of Algorithm S3."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf
from dm_env import specs as dm_env_specs

from agents.a3c import config as a3c_config
from agents.a3c import strategy as strategies
from rlcomponents import environment_batch, schedules, specs
from rlcomponents.learners import async_worker, rollouts
from rlcomponents.networks import actor_critic, bodies
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.testing import fakes


class Linear:
    """A worker with a linear network in the ring, and what it is made of."""

    def __init__(self, game, *, seed, store=None, **settings):
        spec = specs.make_environment_spec(game)
        network = actor_critic.DiscreteActorCritic(
            bodies.FeedForwardBody(snt.Flatten()), spec, seed=1
        )
        self.names = [variable.name for variable in network.trainable_variables]
        self.strategy = strategies.A3CStrategy(
            network,
            np.random.default_rng(seed),
            entropy_cost=settings["entropy_cost"],
            value_coefficient=settings["value_coefficient"],
        )
        self.layout = self.strategy.variables.layout
        self.initial = self.named(self.strategy.variables.vector())
        self.store = local_store.LocalStore(
            self.layout,
            update_rules.RMSProp(decay=0.99, epsilon=0.1),
            schedules.Linear(settings["learning_rate"], 0.0, settings["horizon_steps"]),
            max_staleness_updates=None,
            target_period_updates=None,
            max_gradient_norm=settings["max_gradient_norm"],
        )
        self.worker = async_worker.AsyncWorker(
            rollouts.RolloutCollector(
                environment_batch.EnvironmentBatch([game]),
                self.strategy,
                max_steps=settings["t_max"],
                discount=settings["gamma"],
                max_abs_reward=None,
            ),
            self.strategy,
            self.store,
        )

    def named(self, vector):
        """Splits a vector into `logits/w`, `logits/b`, `value/w` and `value/b`."""
        return {
            "/".join(name.removesuffix(":0").split("/")[-2:]): np.array(part, float)
            for name, part in zip(self.names, self.layout.split(vector), strict=True)
        }


def algorithm_s3(
    theta,
    game,
    *,
    seed,
    num_updates,
    t_max,
    gamma,
    entropy_cost,
    value_coefficient,
    max_gradient_norm,
    learning_rate,
    horizon_steps,
):
    """Algorithm S3 in float64, step by step; an entropy term as in section 4.

    The update is RMSProp of equations S2 and S3, its step size annealed to 0.
    """
    rng = np.random.default_rng(seed)
    theta = {name: part.copy() for name, part in theta.items()}
    mean_square = {name: np.zeros_like(part) for name, part in theta.items()}
    total_steps = 0
    timestep = game.reset()
    for _ in range(num_updates):
        d_theta = {name: np.zeros_like(part) for name, part in theta.items()}
        states, actions, rewards = [], [], []
        while True:
            state = timestep.observation.astype(float)
            logits = state @ theta["logits/w"] + theta["logits/b"]
            action = int(np.argmax(logits + rng.gumbel(size=len(logits))))
            timestep = game.step(action)
            states.append(state)
            actions.append(action)
            rewards.append(float(timestep.reward))
            if timestep.last() or len(states) == t_max:
                break
        is_terminal = timestep.last() and timestep.discount == 0.0
        state = timestep.observation.astype(float)
        R = 0.0 if is_terminal else (state @ theta["value/w"] + theta["value/b"]).item()
        for i in reversed(range(len(states))):
            R = rewards[i] + gamma * R
            logits = states[i] @ theta["logits/w"] + theta["logits/b"]
            pi = np.exp(logits) / np.sum(np.exp(logits))
            V = (states[i] @ theta["value/w"] + theta["value/b"]).item()
            # Ascent on log pi(a|s) (R - V) + beta H, descent on c (R - V)^2.
            d_log_pi = np.eye(len(pi))[actions[i]] - pi
            entropy = -np.sum(pi * np.log(pi))
            d_entropy = -pi * (np.log(pi) + entropy)
            d_logits = -(d_log_pi * (R - V) + entropy_cost * d_entropy)
            d_value = np.array([-2.0 * value_coefficient * (R - V)])
            d_theta["logits/w"] += np.outer(states[i], d_logits)
            d_theta["logits/b"] += d_logits
            d_theta["value/w"] += np.outer(states[i], d_value)
            d_theta["value/b"] += d_value
        norm = np.sqrt(sum(np.sum(part**2) for part in d_theta.values()))
        scale = min(1.0, max_gradient_norm / norm)
        eta = learning_rate * max(0.0, 1.0 - total_steps / horizon_steps)
        for name, part in d_theta.items():
            gradient = scale * part
            g = mean_square[name] = 0.99 * mean_square[name] + 0.01 * gradient**2
            theta[name] -= eta * gradient / np.sqrt(g + 0.1)
        total_steps += len(states)
        if timestep.last():
            timestep = game.reset()
    return theta, total_steps


def test_200_updates_give_the_parameters_of_algorithm_s3(make_ring):
    settings = {
        "t_max": 5,
        "gamma": 0.9,
        "entropy_cost": 0.02,
        "value_coefficient": 0.5,
        "max_gradient_norm": 4.0,
        "learning_rate": 0.02,
        "horizon_steps": 1_500,
    }
    linear = Linear(make_ring(), seed=7, **settings)
    expected, total_steps = algorithm_s3(
        linear.initial, make_ring(), seed=7, num_updates=200, **settings
    )
    for _ in range(200):
        linear.worker.step()
    snapshot = linear.store.pull()
    assert snapshot.steps == total_steps
    found = linear.named(snapshot.vector)
    assert found.keys() == {"logits/w", "logits/b", "value/w", "value/b"}
    for name, part in expected.items():
        np.testing.assert_allclose(found[name], part, rtol=0, atol=1e-5)
        assert np.abs(part - linear.initial[name]).max() > 0.1  # It has learned.


# -------------------------------------------------------------------------- its pieces


def make_strategy(game, *, bootstraps=True, seed=0, **settings):
    """A strategy with the network of the configured agent."""
    config = a3c_config.A3CConfig(environment="catch", network="mlp", **settings)
    spec = specs.make_environment_spec(game)
    return strategies.A3CStrategy(
        strategies.make_network(config, spec),
        np.random.default_rng(seed),
        entropy_cost=config.entropy_cost,
        value_coefficient=config.value_coefficient,
        bootstraps=bootstraps,
    )


def make_collector(strategy, *games, max_steps=5):
    return rollouts.RolloutCollector(
        environment_batch.EnvironmentBatch(games),
        strategy,
        max_steps=max_steps,
        discount=0.9,
        max_abs_reward=None,
    )


def test_the_gradients_of_environments_side_by_side_are_added():
    strategy = make_strategy(fakes.ScriptedGame([[1.0]]))

    def gradient(num_environments):
        games = [fakes.ScriptedGame([[1.0] * 9]) for _ in range(num_environments)]
        rollout, *_ = make_collector(strategy, *games).collect(keep_next_action=False)
        actions = np.zeros_like(rollout.action)  # They were drawn apart.
        return strategy.gradient(rollout._replace(action=actions))

    loss, vector = gradient(1)
    loss_of_four, vector_of_four = gradient(4)
    assert loss_of_four == pytest.approx(4 * loss, rel=1e-5)
    np.testing.assert_allclose(vector_of_four, 4 * vector, rtol=1e-4, atol=4e-5)


def test_without_a_value_loss_nothing_reaches_what_only_the_critic_uses():
    game = fakes.ScriptedGame([[1.0] * 9])
    strategy = make_strategy(game, value_coefficient=0.0)
    rollout, *_ = make_collector(strategy, game).collect(keep_next_action=False)
    _, vector = strategy.gradient(rollout)
    parts = strategy.variables.layout.split(vector)
    of_value, others = [], []
    for name, part in zip(strategy.variables.layout.names, parts, strict=True):
        (of_value if "value/" in name else others).append(part)
    assert len(of_value) == 2
    assert all(np.all(part == 0.0) for part in of_value)
    assert any(np.any(part != 0.0) for part in others)


def test_a_whole_episode_ends_without_a_value_even_where_it_is_cut():
    game = fakes.ScriptedGame([[1.0, 1.0]], truncated=True)
    strategy = make_strategy(game, bootstraps=False)
    rollout, *_ = make_collector(strategy, game).collect(keep_next_action=False)
    np.testing.assert_allclose(rollout.n_step_returns(), [[1.9], [1.0]], rtol=1e-6)


class Noting:
    """Acts as a strategy does, and notes what the network said."""

    def __init__(self, strategy):
        self.logits = []
        self.initial_state = strategy.initial_state
        self.value = strategy.value
        self._strategy = strategy

    def act(self, observation, is_first, state):
        policy, _, _ = self._strategy._unroll(observation, is_first, state)
        self.logits.append(policy.logits)
        return self._strategy.act(observation, is_first, state)


@pytest.mark.parametrize("recurrent", [False, True])
def test_learning_sees_the_memory_that_acting_had(recurrent):
    # Over three rollouts of 4 steps, with episodes of 3 and of 5 steps.
    games = [fakes.ScriptedGame([[0.0] * length]) for length in (3, 5)]
    strategy = make_strategy(games[0], recurrent=recurrent)
    noting = Noting(strategy)
    collector = make_collector(noting, *games, max_steps=4)
    for _ in range(3):
        noting.logits.clear()
        rollout, *_ = collector.collect(keep_next_action=False)
        policy, _, _ = strategy._network.unroll(
            tf.constant(rollout.observation), rollout.is_first, rollout.state
        )
        np.testing.assert_allclose(policy.logits, noting.logits, rtol=1e-4, atol=1e-5)


def test_one_step_episodes_are_learned_each_by_itself_with_a_memory():
    games = [fakes.ScriptedGame([[1.0]], truncated=cut) for cut in (False, True)]
    strategy = make_strategy(games[0], recurrent=True)
    collector = make_collector(strategy, *games, max_steps=8)
    for _ in range(2):
        rollout, *_ = collector.collect(keep_next_action=False)
        assert rollout.is_first.all()
        returns = 1.0 + 0.9 * np.where([False, True], rollout.bootstrap, 0.0)
        np.testing.assert_allclose(rollout.n_step_returns(), returns, rtol=1e-5)
        forgetful = rollout._replace(state=strategy.initial_state(2))
        gradients = [strategy.gradient(each)[1] for each in (rollout, forgetful)]
        np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-6)


def test_a_value_is_that_of_the_memory_before_it():
    game = fakes.ScriptedGame([[0.0] * 3], truncated=True)
    strategy = make_strategy(game, recurrent=True)
    rollout, *_ = make_collector(strategy, game).collect(keep_next_action=False)
    # One more step of the same episode, to where it was cut.
    observations = np.concatenate([rollout.observation, rollout.next_observation[-1:]])
    is_first = np.concatenate([rollout.is_first, [[False]]])
    _, values, _ = strategy._network.unroll(
        tf.constant(observations), is_first, rollout.state
    )
    assert rollout.bootstrap[-1] == pytest.approx(values[-1].numpy(), abs=1e-5)
    assert rollout.bootstrap[-1] != 0.0


@pytest.mark.parametrize("recurrent", [False, True])
def test_continuous_actions_have_a_gradient_for_all_that_there_is(recurrent):
    config = a3c_config.A3CConfig(
        environment="catch", recurrent=recurrent, network="mlp"
    )
    spec = specs.EnvironmentSpec(
        observations=dm_env_specs.Array((3,), np.float32),
        actions=dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0),
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )
    strategy = strategies.make_strategy(config, spec, 0)
    state = strategy.initial_state(1)
    observation = np.ones((1, 3), np.float32)
    action, _ = strategy.act(observation, np.array([True]), state)
    assert (action.shape, action.dtype) == ((1, 2), np.float32)
    ones = np.ones((1, 1), np.float32)
    rollout = rollouts.Rollout(
        observation=observation[None],
        is_first=np.array([[True]]),
        action=action[None],
        reward=ones,
        discount=0.9 * ones,
        last=np.array([[False]]),
        next_observation=observation[None],
        next_action=None,
        state=state,
        bootstrap=2.0 * ones,
    )
    loss, vector = strategy.gradient(rollout)
    assert np.isfinite(loss)
    parts = strategy.variables.layout.split(vector)
    assert all(np.isfinite(part).all() for part in parts)
    heads = [
        part
        for name, part in zip(strategy.variables.layout.names, parts, strict=True)
        if any(head in name for head in ("mean/", "variance/", "value/"))
    ]
    assert len(heads) == 6
    assert all(np.any(part != 0.0) for part in heads)


# ------------------------------------------------------------------------ from settings


def spec_of_catch(config):
    return specs.make_environment_spec(config.make_environment_factory()(0))


def test_workers_start_alike_and_draw_apart():
    config = a3c_config.A3CConfig(environment="catch", seed=7)
    spec = spec_of_catch(config)
    made = [strategies.make_strategy(config, spec, index) for index in (0, 1, 0)]
    vectors = [each.variables.vector() for each in made]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    observation = np.zeros((1, 10, 5), np.float32)
    drawn = [
        [each.act(observation, np.array([True]), ())[0].item() for _ in range(30)]
        for each in made
    ]
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize("greedy", [False, True])
def test_the_player_draws_actions_or_takes_the_likeliest(greedy):
    config = a3c_config.A3CConfig(environment="catch", greedy_evaluation=greedy)
    player = strategies.make_player(config, spec_of_catch(config))
    observation = np.zeros((10, 5), np.float32)
    actions = {int(player.actor.select_action(observation)) for _ in range(50)}
    assert (len(actions) == 1) == greedy
    player.variables.assign(player.variables.vector())  # Of the network it plays with.


def test_rollouts_of_many_lengths_are_traced_twice():
    game = fakes.ScriptedGame([[0.0] * 7])
    strategy = make_strategy(game)
    collector = make_collector(strategy, game, max_steps=5)
    for _ in range(8):  # Their lengths are 5 and 2, by turns.
        strategy.gradient(collector.collect(keep_next_action=False)[0])
    assert strategy._gradient.num_traces <= 2
