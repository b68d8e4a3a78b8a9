"""The value methods' targets, and 200 updates against Algorithms 1 and S2."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from agents.async_q import strategies
from rlcomponents import environment_batch, schedules
from rlcomponents.learners import async_worker, rollouts
from rlcomponents.parameters import (
    shared_memory,
    shared_memory_store,
    update_rules,
)
from rlcomponents.testing import fakes

NUM_UPDATES = 200
SETTINGS = {
    "t_max": 5,
    "gamma": 0.9,
    "epsilon": schedules.Linear(1.0, 0.2, 400),
    "learning_rate": schedules.Linear(0.05, 0.0, 1_500),
    "target_period_steps": 37,  # Neither rollouts nor games end at its multiples.
}


def make_network(num_inputs, num_actions):
    network = snt.Linear(num_actions)
    network(tf.zeros([1, num_inputs]))
    rng = np.random.default_rng(2)
    for variable in network.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return network


def make_strategy(rule, *, num_inputs=3, num_actions=2, epsilon=0.0, seed=0):
    return strategies.QStrategy(
        make_network(num_inputs, num_actions),
        make_network(num_inputs, num_actions),
        rule,
        epsilon=epsilon if callable(epsilon) else schedules.Constant(epsilon),
        rng=np.random.default_rng(seed),
    )


def make_collector(strategy, *games, max_steps=5, discount=0.5):
    return rollouts.RolloutCollector(
        environment_batch.EnvironmentBatch(games),
        strategy,
        max_steps=max_steps,
        discount=discount,
        max_abs_reward=None,
    )


# --------------------------------------------------------------- against the algorithms


class Transcription:
    """What Algorithms 1 and S2 have in common: a linear Q, steps, lock-free updates.

    In float64, one step after the other. `T` is the global counter. The target network
    is copied where T has crossed a multiple of its period since the last update.
    """

    def __init__(self, theta, game, seed):
        self.theta = {name: part.copy() for name, part in theta.items()}
        self.target = {name: part.copy() for name, part in theta.items()}
        self.mean_square = {name: np.zeros_like(part) for name, part in theta.items()}
        self.T = 0
        self.game = game
        self.rng = np.random.default_rng(seed)
        self.timestep = game.reset()
        self.epsilon = SETTINGS["epsilon"](0)

    def q(self, timestep, theta):
        return timestep.observation.astype(float) @ theta["w"] + theta["b"]

    def choose(self):
        """Acts epsilon-greedily where the game is, by theta."""
        q = self.q(self.timestep, self.theta)
        random_action = self.rng.integers(len(q), size=1, dtype=np.int32)[0]
        is_random = self.rng.random(1)[0] < self.epsilon
        return int(random_action if is_random else np.argmax(q))

    def is_terminal(self):
        return self.timestep.last() and self.timestep.discount == 0.0

    def gradient(self, steps, targets):
        """d(y - Q(s, a; theta))^2 / d theta, summed."""
        d_theta = {name: np.zeros_like(part) for name, part in self.theta.items()}
        for (timestep, action), y in zip(steps, targets, strict=True):
            error = y - self.q(timestep, self.theta)[action]
            d_theta["w"][:, action] += -2.0 * error * timestep.observation
            d_theta["b"][action] += -2.0 * error
        return d_theta

    def update(self, d_theta, num_steps):
        """RMSProp (equations S2 and S3), then the counter, then the target copy."""
        eta = SETTINGS["learning_rate"](self.T)
        for name, gradient in d_theta.items():
            g = 0.99 * self.mean_square[name] + 0.01 * gradient**2
            self.mean_square[name] = g
            self.theta[name] = self.theta[name] - eta * gradient / np.sqrt(g + 0.1)
        period = SETTINGS["target_period_steps"]
        crosses = (self.T + num_steps) // period > self.T // period
        self.T += num_steps
        if crosses:
            self.target = {name: part.copy() for name, part in self.theta.items()}


def algorithm_1(transcription, *, sarsa):
    """One-step Q or Sarsa: gradients gathered over I_AsyncUpdate steps."""
    it = transcription
    action = None
    for _ in range(NUM_UPDATES):
        it.epsilon = SETTINGS["epsilon"](it.T)
        steps, targets = [], []
        while True:
            if action is None:
                action = it.choose()
            steps.append((it.timestep, action))
            it.timestep = it.game.step(action)
            action = None
            y = float(it.timestep.reward)
            is_last = it.timestep.last()
            if not it.is_terminal():
                following = it.q(it.timestep, it.target)
                if sarsa:
                    action = it.choose()  # Where the game was cut: as if.
                    y += SETTINGS["gamma"] * following[action]
                else:
                    y += SETTINGS["gamma"] * following.max()
            targets.append(y)
            if is_last:
                it.timestep = it.game.reset()
                action = it.choose() if sarsa else None
            if is_last or len(steps) == SETTINGS["t_max"]:
                break
        it.update(it.gradient(steps, targets), len(steps))


def algorithm_s2(transcription):
    """N-step Q."""
    it = transcription
    for _ in range(NUM_UPDATES):
        it.epsilon = SETTINGS["epsilon"](it.T)
        steps, rewards = [], []
        while True:
            action = it.choose()
            steps.append((it.timestep, action))
            it.timestep = it.game.step(action)
            rewards.append(float(it.timestep.reward))
            if it.timestep.last() or len(steps) == SETTINGS["t_max"]:
                break
        R = 0.0 if it.is_terminal() else it.q(it.timestep, it.target).max()
        targets = []
        for reward in reversed(rewards):
            R = reward + SETTINGS["gamma"] * R
            targets.insert(0, R)
        it.update(it.gradient(steps, targets), len(steps))
        if it.timestep.last():
            it.timestep = it.game.reset()


@pytest.mark.parametrize("algorithm", ["one_step_q", "one_step_sarsa", "n_step_q"])
def test_200_updates_give_the_parameters_of_the_papers_algorithm(make_ring, algorithm):
    """In shared memory, under Shared RMSProp, over some twenty target copies."""
    strategy = make_strategy(
        strategies.RULES[algorithm](),
        num_inputs=4,
        num_actions=3,
        epsilon=SETTINGS["epsilon"],
        seed=7,
    )
    layout = strategy.variables.layout

    def named(vector):
        names = [name.removesuffix(":0").split("/")[-1] for name in layout.names]
        return {
            name: np.array(part, float)
            for name, part in zip(names, layout.split(vector), strict=True)
        }

    initial = named(strategy.variables.vector())
    with_memory = shared_memory.SharedMemory.create()
    store = shared_memory_store.SharedMemoryStore(
        layout,
        with_memory.open(),
        update_rules.RMSProp(decay=0.99, epsilon=0.1),
        SETTINGS["learning_rate"],
        max_staleness_updates=None,
        target_period_updates=None,
        target_period_steps=SETTINGS["target_period_steps"],
    )
    worker = async_worker.AsyncWorker(
        make_collector(
            strategy,
            make_ring(),
            max_steps=SETTINGS["t_max"],
            discount=SETTINGS["gamma"],
        ),
        strategy,
        store,
    )
    transcription = Transcription(initial, make_ring(), seed=7)
    if algorithm == "n_step_q":
        algorithm_s2(transcription)
    else:
        algorithm_1(transcription, sarsa=algorithm == "one_step_sarsa")

    for _ in range(NUM_UPDATES):
        worker.step()
    snapshot = store.pull()
    assert snapshot.steps == transcription.T
    assert snapshot.updates == NUM_UPDATES
    for vector, expected in (
        (snapshot.vector, transcription.theta),
        (store.pull(target=True).vector, transcription.target),
    ):
        found = named(vector)
        assert found.keys() == {"w", "b"}
        for name, part in expected.items():
            np.testing.assert_allclose(found[name], part, rtol=0, atol=1e-5)
            assert np.abs(part - initial[name]).max() > 0.1  # It has learned.


# ----------------------------------------------------------------------------- by hand


def fixed(*values):
    """Action values that are the same everywhere."""
    return lambda observations: np.tile(
        np.array(values, np.float32), (len(observations), 1)
    )


def make_rollout(**parts):
    """Three steps of rewards 1, 2, 3 in one environment, at a discount of 1/2."""
    column = np.ones((3, 1), np.float32)
    return rollouts.Rollout(
        **{
            "observation": np.zeros((3, 1, 3), np.float32),
            "is_first": np.zeros((3, 1), bool),
            "action": np.zeros((3, 1), np.int32),
            "reward": np.array([[1.0], [2.0], [3.0]], np.float32),
            "discount": 0.5 * column,
            "last": np.zeros((3, 1), bool),
            "next_observation": np.zeros((3, 1, 3), np.float32),
            "next_action": None,
            "state": (),
            "bootstrap": 0.0 * column,
            **parts,
        }
    )


TERMINATION = {
    "discount": np.array([[0.5], [0.5], [0.0]], np.float32),
    "last": np.array([[False], [False], [True]]),
}


def test_one_step_q_takes_the_best_of_the_target_networks_values():
    targets = strategies.OneStepQ().targets(make_rollout(), fixed(4.0, 10.0))
    assert targets.ravel().tolist() == [6.0, 7.0, 8.0]


def test_one_step_sarsa_takes_the_value_of_what_is_done_next():
    rollout = make_rollout(
        action=np.array([[0], [1], [0]], np.int32), next_action=np.array([1], np.int32)
    )
    targets = strategies.OneStepSarsa().targets(rollout, fixed(4.0, 10.0))
    # After the three steps come actions 1, 0 and, after the rollout, 1.
    assert targets.ravel().tolist() == [6.0, 4.0, 8.0]


def test_one_step_sarsa_does_not_look_into_the_next_episode():
    rollout = make_rollout(
        last=np.array([[False], [True], [False]]),
        bootstrap=np.array([[0.0], [100.0], [0.0]], np.float32),
        next_action=np.array([0], np.int32),
    )
    targets = strategies.OneStepSarsa().targets(rollout, fixed(4.0, 10.0))
    assert targets.ravel().tolist() == [3.0, 52.0, 5.0]


def test_n_step_q_takes_the_longest_return_there_is():
    rollout = make_rollout(bootstrap=np.array([[0.0], [0.0], [8.0]], np.float32))
    targets = strategies.NStepQ().targets(rollout, fixed(4.0, 10.0))
    assert targets.ravel().tolist() == [1 + 5.5 / 2, 2 + 7 / 2, 3 + 8 / 2]


@pytest.mark.parametrize("name", strategies.RULES)
def test_nothing_follows_a_termination(name):
    rollout = make_rollout(**TERMINATION, next_action=np.array([1], np.int32))
    targets = strategies.RULES[name]().targets(rollout, fixed(4.0, 10.0))
    assert targets[-1] == 3.0


def test_sarsa_chooses_as_if_where_an_episode_was_cut():
    value = strategies.OneStepSarsa().value(
        np.zeros((2, 3), np.float32), fixed(4.0, 10.0), lambda _: np.array([1, 0])
    )
    assert value.tolist() == [10.0, 4.0]


def test_n_step_q_bootstraps_from_the_best_of_the_target_networks_values():
    value = strategies.NStepQ().value(
        np.zeros((2, 3), np.float32), fixed(4.0, 10.0), lambda _: np.array([0, 0])
    )
    assert value.tolist() == [10.0, 10.0]


# ----------------------------------------------------------------------------- learning


def collect(strategy, *games):
    return make_collector(strategy, *games).collect(
        keep_next_action=strategy.keeps_next_action
    )[0]


@pytest.mark.parametrize("name", strategies.RULES)
def test_no_gradient_reaches_the_target_network(name):
    strategy = make_strategy(strategies.RULES[name]())
    rollout = collect(strategy, fakes.ScriptedGame([[1.0] * 9]))
    with tf.GradientTape() as tape:
        loss, _ = strategy._loss_and_gradient(
            tf.constant(rollout.observation[:, 0]),
            tf.constant(rollout.action[:, 0]),
            tf.constant(
                strategy._rule.targets(rollout, strategy._target_q)[:, 0], tf.float32
            ),
        )
    targets = strategy.target_variables._variables
    gradients = tape.gradient(loss, targets, unconnected_gradients="zero")
    assert len(gradients) == 2
    assert all(not np.any(gradient) for gradient in gradients)
    # And the pushed one is as long as the network that learns: nothing more is in it.
    _, vector = strategy.gradient(rollout)
    assert vector.shape == (strategy.variables.layout.num_parameters,)
    assert np.any(vector != 0.0)


@pytest.mark.parametrize("name", strategies.RULES)
def test_a_loss_is_the_sum_of_squared_errors(name):
    strategy = make_strategy(strategies.RULES[name]())
    rollout = collect(strategy, fakes.ScriptedGame([[1.0] * 9]))
    loss, _ = strategy.gradient(rollout)
    q = strategy._q(rollout.observation[:, 0])
    taken = q[np.arange(5), rollout.action[:, 0]]
    targets = strategy._rule.targets(rollout, strategy._target_q)[:, 0]
    assert loss == pytest.approx(np.sum((targets - taken) ** 2), rel=1e-5)


@pytest.mark.parametrize("name", strategies.RULES)
def test_the_gradients_of_environments_side_by_side_are_added(name):
    strategy = make_strategy(strategies.RULES[name]())  # Greedy, so they act alike.

    def gradient(num_environments):
        games = [fakes.ScriptedGame([[1.0] * 9]) for _ in range(num_environments)]
        return strategy.gradient(collect(strategy, *games))

    loss, vector = gradient(1)
    loss_of_four, vector_of_four = gradient(4)
    assert loss_of_four == pytest.approx(4 * loss, rel=1e-5)
    np.testing.assert_allclose(vector_of_four, 4 * vector, rtol=1e-4, atol=4e-5)


def test_exploration_goes_by_the_steps_of_all_workers():
    strategy = make_strategy(
        strategies.NStepQ(), epsilon=schedules.Linear(1.0, 0.0, 100)
    )
    assert strategy.epsilon == 1.0
    strategy.set_progress(75)
    assert strategy.epsilon == 0.25
    strategy.set_progress(100)
    observation = np.ones((1, 3), np.float32)
    best = int(np.argmax(strategy._q(observation)))
    for _ in range(20):
        action, state = strategy.act(observation, np.array([False]), ())
        assert (action.tolist(), action.dtype, state) == ([best], np.int32, ())
