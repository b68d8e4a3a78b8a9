"""Tests of rlcomponents.learners.actor_learner."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from rlcomponents import environment_loop, schedules
from rlcomponents.actors import epsilon_greedy, q_values
from rlcomponents.learners import actor_learner as actor_learners
from rlcomponents.learners import dqn
from rlcomponents.losses import outliers
from rlcomponents.parameters import local_store, tf_variables, update_rules
from rlcomponents.testing import fake_replay, fakes

ADD, PUSH = "add_steps", "push"


def make_network():
    network = snt.Linear(2, w_init=snt.initializers.Zeros())
    network(tf.zeros([1, 3]))
    return network


class Bundle:
    """An `ActorLearner` on a scripted game, and what it is made of."""

    def __init__(
        self, *, game=((0.0, 1.0),), min_items=1, outlier_rule=None, **settings
    ):
        self.game = fakes.ScriptedGame(game)
        self.network = make_network()
        variables = tf_variables.FlatVariables(self.network.trainable_variables)
        self.store = fakes.RecordingStore(
            local_store.LocalStore(
                variables.layout,
                update_rules.SGD(),
                schedules.Constant(0.1),
                max_staleness_updates=None,
                target_period_updates=100,
            )
        )
        adder = fake_replay.RecordingAdder(discount=0.9)
        self.items = adder.transitions
        learner = dqn.DQNLearner(
            self.network,
            make_network(),
            self.store,
            fake_replay.ListBatches(self.items, batch_size=2, min_items=min_items),
            outlier_rule=outlier_rule,
        )
        actor = epsilon_greedy.EpsilonGreedyActor(
            q_values.make_q_values(self.network, self.game.observation_spec()),
            lambda: 0.0,
            np.random.default_rng(0),
            adder=adder,
        )
        self.worker = actor_learners.ActorLearner(
            environment_loop.EnvironmentLoop(self.game, actor),
            learner,
            self.store,
            **{"first_update_steps": 1, "steps_per_update": 1, **settings},
        )

    def run(self, num_steps):
        return [self.worker.step() for _ in range(num_steps)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"first_update_steps": 5, "steps_per_update": 1, "count_period_steps": 2},
            # Steps 2 and 4 end a period; 5 to 12 end in a push each.
            [(ADD, 2), (ADD, 2), *[(PUSH, 1)] * 8],
            id="an-update-a-step",
        ),
        pytest.param(
            {"first_update_steps": 5, "steps_per_update": 3, "count_period_steps": 4},
            # Step 4 ends a period; pushes at 6, 9 and 12.
            [(ADD, 4), (PUSH, 2), (PUSH, 3), (PUSH, 3)],
            id="an-update-in-three-steps",
        ),
        pytest.param(
            {"first_update_steps": 1, "steps_per_update": 4, "count_period_steps": 3},
            # Periods end at 3, 7 and 11, each a step before a push.
            [(ADD, 3), (PUSH, 1)] * 3,
            id="periods-shorter-than-updates",
        ),
        pytest.param(
            {"min_items": 100, "steps_per_update": 3, "count_period_steps": 4},
            [(ADD, 4)] * 3,
            id="replay-never-gives-a-batch",
        ),
        pytest.param(
            {"min_items": 8, "steps_per_update": 3, "count_period_steps": 5},
            # Nothing in replay at 3 and 6; a period ends at 5; then pushes at 9 and 12.
            [(ADD, 5), (PUSH, 4), (PUSH, 3)],
            id="replay-gives-batches-later",
        ),
    ],
)
def test_every_agent_step_is_counted_once(settings, expected):
    bundle = Bundle(**settings)
    bundle.run(12)
    assert bundle.store.counted == expected
    assert bundle.store.statistics().steps == len(bundle.game.actions) == 12


def test_steps_of_outliers_and_stale_gradients_count_too():
    bundle = Bundle(
        outlier_rule=outliers.OutlierRule(1.0, warmup_batches=0), steps_per_update=2
    )
    steps = bundle.run(8)
    pushes = [step.learner.push for step in steps if step.learner is not None]
    assert None in pushes
    assert len(pushes) == 4
    assert bundle.store.statistics().steps == 8


def test_each_batch_holds_the_step_just_taken():
    bundle = Bundle(min_items=3)
    learned = [step.learner is not None for step in bundle.run(4)]
    assert learned == [False, False, True, True]
    assert len(bundle.items) == 4


def test_nothing_is_learned_before_the_first_update():
    bundle = Bundle(first_update_steps=4, steps_per_update=3)
    learned = [step.learner is not None for step in bundle.run(9)]
    assert learned == [False] * 5 + [True, False, False, True]


def test_the_end_of_a_game_is_told():
    episodes = [step.episode for step in Bundle(game=[[1.0], [2.0, 3.0]]).run(4)]
    assert episodes == [None, None, environment_loop.EpisodeEnd(6.0, 3), None]


def test_every_game_begins_with_the_newest_parameters():
    bundle = Bundle(game=[[0.0, 0.0, 0.0]], first_update_steps=100)
    gradient = -np.ones(8, np.float32)
    bundle.store.push(gradient, bundle.store.pull().versions, 0)
    weights = []
    for _ in range(3):
        bundle.worker.step()
        weights.append(bundle.network.w.numpy()[0, 0])
    np.testing.assert_allclose(weights, [0.0, 0.0, 0.1])


def test_learning_changes_what_the_actor_does():
    # Of two equal values the first is taken; -1 makes it the smaller one.
    bundle = Bundle(game=[[-1.0]])
    bundle.run(2)
    assert bundle.game.actions == [0, 1]


def test_global_steps_are_exact_for_a_worker_alone():
    bundle = Bundle(first_update_steps=4, steps_per_update=2, count_period_steps=3)
    heard = []
    for _ in range(8):
        bundle.worker.step()
        heard.append(bundle.worker.global_steps)
    # Counted at step 3; pushed at 4, 6 and 8.
    assert heard == [0, 0, 3, 4, 4, 6, 6, 8]


def test_global_steps_are_those_of_all_workers():
    bundle = Bundle(first_update_steps=4, count_period_steps=2)
    bundle.store.add_steps(100)
    heard = []
    for _ in range(4):
        bundle.worker.step()
        heard.append(bundle.worker.global_steps)
    assert heard == [0, 102, 102, 104]
    bundle.store.add_steps(1_000)
    bundle.worker.step()
    assert bundle.worker.global_steps == 1_105


def test_no_steps_per_update_are_refused():
    with pytest.raises(ValueError, match="steps_per_update is 0"):
        Bundle(steps_per_update=0)


@pytest.mark.parametrize("act_on_newest", [False, True])
def test_the_next_action_is_of_the_parameters_before_or_after_the_gradient(
    act_on_newest,
):
    bundle = Bundle(game=[[1.0] * 20], act_on_newest=act_on_newest)
    variables = tf_variables.FlatVariables(bundle.network.trainable_variables)
    for _ in range(5):
        bundle.run(1)
        held, kept = variables.vector(), bundle.store.pull().vector
        assert (held == kept).all() == act_on_newest
    assert bundle.worker.global_steps == bundle.store.statistics().steps


def test_a_pull_of_the_parameters_that_it_holds_writes_no_variable(monkeypatch):
    bundle = Bundle(game=[[1.0] * 20], act_on_newest=True)
    bundle.run(3)
    writes = []
    monkeypatch.setattr(
        tf_variables.FlatVariables, "assign", lambda self, vector: writes.append(1)
    )
    learner = bundle.worker._learner
    learner.pull()
    assert not writes
    assert learner.snapshot.updates == 3
