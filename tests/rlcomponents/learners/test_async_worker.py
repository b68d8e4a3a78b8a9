"""Tests of rlcomponents.learners.async_worker."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents import environment_batch, finite, schedules
from rlcomponents.learners import async_worker, rollouts
from rlcomponents.parameters import local_store, tf_variables, update_rules
from rlcomponents.testing import fakes


class Strategy:
    """Always acts alike; its gradient is always 1.

    Attributes:
        progress: Each count of agent steps that it was told.
        seen: Parameters and target parameters as it computed each gradient.
    """

    keeps_next_action = False
    epsilon = 0.25

    def __init__(self, *, initial=5.0, has_target=True):
        self.variables = tf_variables.FlatVariables([tf.Variable(initial)])
        self.target_variables = None
        if has_target:
            self.target_variables = tf_variables.FlatVariables([tf.Variable(0.0)])
        self.progress = []
        self.seen = []

    def initial_state(self, num_environments):
        return ()

    def act(self, observation, is_first, state):
        return np.zeros(len(observation), np.int32), state

    def value(self, observation, state):
        return np.zeros(len(observation), np.float32)

    def gradient(self, rollout):
        parameters = [self.variables.vector()[0]]
        if self.target_variables is not None:
            parameters.append(self.target_variables.vector()[0])
        self.seen.append(parameters)
        return 0.5, np.ones(1, np.float32)

    def set_progress(self, steps):
        self.progress.append(steps)


class Setup:
    """A worker whose rollouts are of 2 steps, at a step size of 1."""

    def __init__(
        self, *, num_environments=1, target_period_steps=4, faults=None, **strategy
    ):
        self.faults = faults or {}
        self.strategy = Strategy(has_target=target_period_steps is not None, **strategy)
        self.others_do = lambda: None
        self.store = fakes.RecordingStore(
            local_store.LocalStore(
                self.strategy.variables.layout,
                update_rules.SGD(),
                schedules.Constant(1.0),
                max_staleness_updates=None,
                target_period_updates=None,
                target_period_steps=target_period_steps,
            ),
            before_push=lambda: self.others_do(),
        )
        self.worker = self.make_worker(num_environments)

    def make_worker(self, num_environments):
        collector = rollouts.RolloutCollector(
            environment_batch.EnvironmentBatch(
                [
                    fakes.FaultyGame([[1.0] * 5], self.faults)
                    for _ in range(num_environments)
                ]
            ),
            self.strategy,
            max_steps=2,
            discount=0.9,
            max_abs_reward=None,
        )
        return async_worker.AsyncWorker(
            collector,
            self.strategy,
            self.store,
        )


def test_it_offers_the_strategys_values_as_initial_parameters():
    setup = Setup(initial=5.0)
    assert setup.store.pull().vector == [5.0]
    assert setup.strategy.target_variables.vector() == [5.0]


def test_it_takes_the_parameters_that_are_there():
    setup = Setup(initial=5.0)
    setup.strategy = Strategy(initial=7.0)
    setup.make_worker(1)
    assert setup.strategy.variables.vector() == [5.0]


def test_each_rollout_is_one_gradient_that_counts_its_steps():
    setup = Setup()
    for expected in (2, 2, 1, 2):  # Episodes have 5 steps.
        assert setup.worker.step().steps == expected
    assert setup.store.counted == [("push", steps) for steps in (2, 2, 1, 2)]
    assert setup.store.statistics().steps == 7
    assert setup.store.pull().vector == [5.0 - 4.0]


def test_steps_of_all_its_environments_count():
    setup = Setup(num_environments=3)
    assert setup.worker.step().steps == 6
    assert setup.store.statistics().steps == 6


def test_a_step_tells_what_came_of_it():
    setup = Setup()
    steps = [setup.worker.step() for _ in range(3)]
    assert steps[0].loss == 0.5
    assert steps[0].push.applied
    assert [len(step.episodes) for step in steps] == [0, 0, 1]
    assert steps[2].episodes[0].episode_return == 5.0
    assert setup.worker.epsilon == 0.25


def test_each_rollout_starts_with_what_the_others_have_done():
    setup = Setup()
    snapshot = setup.store.pull()
    setup.others_do = lambda: setup.store._store.push(
        np.ones(1, np.float32), snapshot.versions, 10
    )
    for _ in range(3):
        setup.worker.step()
    assert [parameters for parameters, _ in setup.strategy.seen] == [5.0, 3.0, 1.0]
    # Pulled once at the start and before each rollout; the others' steps count.
    assert setup.strategy.progress == [0, 0, 12, 24]
    assert setup.worker.snapshot.steps == 24


def test_the_target_copy_is_taken_where_the_steps_cross_its_period():
    setup = Setup(target_period_steps=4)
    for _ in range(6):
        setup.worker.step()
    # Steps before each gradient: 0, 2, 4, 5, 7, 9. It crosses 4 and, by jumping, 8.
    assert setup.strategy.seen == [
        [5.0, 5.0],
        [4.0, 5.0],
        [3.0, 3.0],
        [2.0, 3.0],
        [1.0, 3.0],
        [0.0, 0.0],
    ]
    assert setup.store.num_target_pulls == 3  # No more often than it changes.


def test_a_strategy_without_target_asks_for_none():
    setup = Setup(target_period_steps=None)
    for _ in range(3):
        setup.worker.step()
    assert setup.store.num_target_pulls == 0


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ((0.0, np.full(1, np.nan, np.float32)), "update 0: gradient is nan"),
        ((np.inf, np.ones(1, np.float32)), "update 0: loss is inf"),
    ],
)
def test_a_gradient_that_is_not_finite_is_not_pushed(result, sentence, capsys):
    setup = Setup()
    whole, setup.strategy.gradient = setup.strategy.gradient, lambda rollout: result
    assert setup.worker.step() == async_worker.WorkerStep(2, None, None, ())
    assert setup.store.counted == [("add_steps", 2)]
    assert setup.store.pull().vector == [5.0]
    assert capsys.readouterr().out.startswith(sentence)
    setup.strategy.gradient = whole
    assert setup.worker.step().push.applied


def test_gradients_in_a_row_that_are_not_finite_end_the_worker():
    setup = Setup()
    setup.strategy.gradient = lambda rollout: (np.nan, np.ones(1, np.float32))
    for _ in range(9):
        setup.worker.step()
    with pytest.raises(finite.NonFiniteError, match=r"last of 10 .* has diverged"):
        setup.worker.step()
    assert setup.store.pushed == []


def test_a_rollout_that_is_not_finite_counts_its_steps_and_nothing_else(capsys):
    setup = Setup(faults={(0, 0, 3): {"reward": np.nan}})
    steps = [setup.worker.step() for _ in range(4)]
    assert [step.steps for step in steps] == [2, 1, 2, 2]
    assert steps[1] == async_worker.WorkerStep(1, None, None, ())
    pushed = ("push", 2)
    assert setup.store.counted == [pushed, ("add_steps", 1), pushed, pushed]
    assert setup.store.statistics().steps == 7
    assert setup.store.pull().vector == [5.0 - 3.0]
    assert "episode 1, step 3: reward is nan" in capsys.readouterr().out
