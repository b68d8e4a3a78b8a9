"""Tests of rlcomponents.learners.dqn, on linear networks.

Q(s, a) = (s W)[a]
"""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf
from acme import core as acme_core

from rlcomponents import core, finite, schedules
from rlcomponents.learners import dqn
from rlcomponents.losses import outliers
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, shard, sharded_client, update_rules
from rlcomponents.replay import transitions
from rlcomponents.testing import fakes, in_process

TARGET = np.array([[1, 0], [0, 2]], np.float32)
ONLINE = np.array([[2, 1], [3, 1]], np.float32)
BATCH = transitions.Transition(
    observation=np.array([[1, 0], [1, 1]], np.float32),  # Q = [2, 1] and [5, 2].
    action=np.array([0, 1], np.int32),  # Q(s, a) = 2 and 2.
    reward=np.array([2.5, -1], np.float32),
    discount=np.array([0.5, 0], np.float32),  # The second one ends the episode.
    # Target network: [0, 2]. Online network: [3, 1].
    next_observation=np.array([[0, 1], [5, 5]], np.float32),
)


class Batches:
    """Gives batches in order, then none."""

    def __init__(self, *batches, before=lambda: None):
        self._batches = list(batches)
        self._before = before
        self.timeouts_secs = []

    def next_batch(self, timeout_secs):
        self.timeouts_secs.append(timeout_secs)
        self._before()
        if not self._batches:
            return None
        batch = self._batches.pop(0)
        if batch is None:
            return None
        return transitions.Transition(*(tf.constant(field) for field in batch))

    def close(self):
        pass


def make_network(weights=TARGET):
    weights = np.asarray(weights, np.float32)
    network = snt.Linear(weights.shape[1], with_bias=False)
    network(tf.zeros([1, weights.shape[0]]))
    network.w.assign(weights)
    return network


def make_store(*, learning_rate=0.5, max_staleness=None, period=1_000, shape=(2, 2)):
    return local_store.LocalStore(
        layouts.ParameterLayout(["w"], [shape]),
        update_rules.SGD(),
        schedules.Constant(learning_rate),
        max_staleness_updates=max_staleness,
        target_period_updates=period,
    )


def push(store, gradient):
    """What another learner does."""
    gradient = np.asarray(gradient, np.float32).ravel()
    assert store.push(gradient, store.pull().versions, 0).applied


def make_learner(store, batches, *, network=None, target_network=None, **settings):
    settings = {"max_abs_td_error": None, **settings}
    return dqn.DQNLearner(
        network or make_network(),
        target_network or make_network(np.zeros([2, 2])),
        store,
        batches,
        **settings,
    )


def weights(store):
    return store.pull().vector.reshape(2, 2)


@pytest.mark.parametrize(
    ("settings", "loss", "expected"),
    [
        # y = 2.5 + 0.5 max[0, 2] = 3.5 and -1: errors 1.5 and -3.
        # dW = -mean(error * s): column 0 [-0.75, 0], column 1 [1.5, 1.5].
        pytest.param(
            {}, (1.125 + 4.5) / 2, [[2.375, 0.25], [3.0, 0.25]], id="q_learning"
        ),
        # The online network picks action 0, which the target network values 0:
        # y = 2.5 and -1, errors 0.5 and -3.
        pytest.param(
            {"double_q": True},
            (0.125 + 4.5) / 2,
            [[2.125, 0.25], [3.0, 0.25]],
            id="double_q",
        ),
        # Errors 1.5 and -3 count as 1 and -1 in the gradient.
        pytest.param(
            {"max_abs_td_error": 1.0},
            (1.0 + 2.5) / 2,
            [[2.25, 0.75], [3.0, 0.75]],
            id="clipped-errors",
        ),
    ],
)
def test_one_step_matches_hand_computation(settings, loss, expected):
    store = make_store(learning_rate=0.5)
    store.initialise(TARGET.ravel())  # Also the first target copy.
    push(store, (TARGET - ONLINE) / 0.5)
    learner = make_learner(store, Batches(BATCH), **settings)
    step = learner.step()
    assert step.loss == loss
    assert step.push.applied
    np.testing.assert_array_equal(weights(store), expected)


def algorithm_1(theta, batches, *, learning_rate, period, double_q):
    """Nair et al. 2015, Algorithm 1 with one learner, transcribed line by line."""
    theta = theta.astype(np.float64)
    theta_minus = theta.copy()
    for update, batch in enumerate(batches, start=1):
        gradient = np.zeros_like(theta)
        for s, a, r, discount, s_next in zip(*batch, strict=True):
            q_next = s_next @ theta_minus
            if double_q:
                y = r + discount * q_next[np.argmax(s_next @ theta)]
            else:
                y = r + discount * np.max(q_next)
            # Equation 2: g = (y - Q(s, a)) grad Q(s, a), and descent goes along -g.
            gradient[:, a] -= (y - (s @ theta)[a]) * s / len(batch.action)
        theta = theta - learning_rate * gradient
        if update % period == 0:
            theta_minus = theta.copy()
    return theta, theta_minus


@pytest.mark.parametrize("double_q", [False, True])
def test_many_steps_match_algorithm_1(double_q):
    rng = np.random.default_rng(0)
    batches = [
        transitions.Transition(
            observation=rng.normal(size=[4, 3]).astype(np.float32),
            action=rng.integers(5, size=4, dtype=np.int32),
            reward=rng.normal(size=4).astype(np.float32),
            discount=rng.choice(np.float32([0.0, 0.9]), size=4),
            next_observation=rng.normal(size=[4, 3]).astype(np.float32),
        )
        for _ in range(11)
    ]
    initial = rng.normal(size=[3, 5]).astype(np.float32)
    store = make_store(learning_rate=0.1, period=4, shape=(3, 5))
    learner = make_learner(
        store,
        Batches(*batches),
        network=make_network(initial),
        target_network=make_network(np.zeros([3, 5])),
        double_q=double_q,
    )
    learner.run(num_steps=len(batches))
    theta, theta_minus = algorithm_1(
        initial, batches, learning_rate=0.1, period=4, double_q=double_q
    )
    np.testing.assert_allclose(
        store.pull().vector.reshape(3, 5), theta, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        store.pull(target=True).vector.reshape(3, 5), theta_minus, rtol=1e-4, atol=1e-5
    )


def test_the_learner_never_changes_its_own_parameters():
    store, network = make_store(), make_network(ONLINE)
    learner = make_learner(store, Batches(BATCH, BATCH), network=network)
    for _ in range(2):
        before = weights(store)
        learner.step()
        assert not np.array_equal(weights(store), before)
        np.testing.assert_array_equal(network.w.numpy(), before)


def test_no_gradient_reaches_the_target_network():
    target_network = make_network(np.zeros([2, 2]))
    learner = make_learner(
        make_store(),
        Batches(BATCH),
        network=make_network(ONLINE),
        target_network=target_network,
    )
    learner.step()
    np.testing.assert_array_equal(target_network.w.numpy(), ONLINE)


def test_networks_are_equal_before_the_first_update():
    network, target_network = make_network(ONLINE), make_network(np.zeros([2, 2]))
    make_learner(
        make_store(), Batches(), network=network, target_network=target_network
    )
    np.testing.assert_array_equal(network.w.numpy(), ONLINE)
    np.testing.assert_array_equal(target_network.w.numpy(), ONLINE)


def test_the_target_follows_the_stores_updates_not_the_learners():
    store, target_network = make_store(learning_rate=1.0, period=3), make_network()
    learner = make_learner(
        store,
        Batches(),
        network=make_network(np.zeros([2, 2])),
        target_network=target_network,
    )
    seen = []
    for _ in range(7):  # All of them another learner's.
        push(store, -np.ones([2, 2]))
        learner.pull()
        seen.append(target_network.w.numpy()[0, 0])
    assert seen == [0, 0, 3, 3, 3, 6, 6]


def test_a_target_copy_is_not_missed_between_two_pulls():
    store, target_network = make_store(learning_rate=1.0, period=3), make_network()
    learner = make_learner(
        store,
        Batches(),
        network=make_network(np.zeros([2, 2])),
        target_network=target_network,
    )
    for _ in range(8):  # Copies at 3 and at 6.
        push(store, -np.ones([2, 2]))
    learner.pull()
    np.testing.assert_array_equal(target_network.w.numpy(), np.full([2, 2], 6.0))


def test_the_target_is_fetched_only_when_there_is_a_new_copy():
    store = fakes.RecordingStore(make_store(period=3))
    learner = make_learner(store, Batches())
    for _ in range(7):
        push(store, np.ones([2, 2]))
        learner.pull()
    assert store.num_target_pulls == 3  # At 0, 3 and 6 updates.


def test_the_target_is_fetched_again_from_a_restored_store():
    store, target_network = make_store(learning_rate=1.0), make_network()
    learner = make_learner(
        store,
        Batches(),
        network=make_network(np.zeros([2, 2])),
        target_network=target_network,
    )
    other = make_store()
    other.initialise(ONLINE.ravel())
    store.restore(other.save())  # Also at 0 updates, but another epoch.
    learner.pull()
    np.testing.assert_array_equal(target_network.w.numpy(), ONLINE)


def test_parameters_and_target_may_come_from_many_shards():
    shards = [
        shard.ParameterShard(
            update_rules.SGD(),
            schedules.Constant(0.5),
            max_staleness_updates=None,
            target_period_updates=2,
        )
        for _ in range(3)
    ]
    sharded = sharded_client.ShardedClient(
        layouts.ParameterLayout(["w"], [[2, 2]]),
        [in_process.InProcessClient(each) for each in shards],
        should_stop=lambda: False,
    )
    local = make_store(period=2)
    for store in (sharded, local):
        learner = make_learner(store, Batches(*[BATCH] * 5))
        learner.run(num_steps=5)
    np.testing.assert_array_equal(weights(sharded), weights(local))


def test_the_newest_parameters_are_taken_after_the_wait_for_replay():
    store = make_store(max_staleness=0)
    batches = Batches(BATCH, before=lambda: push(store, np.ones([2, 2])))
    step = make_learner(store, batches).step()
    assert step.push.staleness_updates == (0,)


def test_a_stale_gradient_is_discarded_and_the_learner_goes_on():
    rivals = [np.ones([2, 2])]
    inner = make_store(max_staleness=0)
    store = fakes.RecordingStore(
        inner, before_push=lambda: rivals and push(inner, rivals.pop())
    )
    learner = make_learner(store, Batches(BATCH, BATCH))
    stale, fresh = learner.step(3), learner.step(4)
    assert stale.push.verdicts == (core.Verdict.STALE,)
    assert fresh.push.applied
    assert store.statistics() == core.StoreStatistics(
        steps=7, updates=2, discarded_stale=1, mean_staleness_updates=0.0
    )


def test_an_outlier_is_not_pushed_but_its_steps_are_counted():
    store = fakes.RecordingStore(make_store())
    learner = make_learner(
        store,
        Batches(BATCH, BATCH),
        outlier_rule=outliers.OutlierRule(1.0, warmup_batches=0),
    )
    first, second = learner.step(3), learner.step(4)  # One loss, twice.
    assert first.push is None
    assert first.loss > 0
    assert second.push.applied
    assert store.counted == [("add_steps", 3), ("push", 4)]
    assert store.statistics().steps == 7


BAD_LOSS = BATCH._replace(reward=np.float32([np.nan, 0]))


class Spoiling(snt.Module):
    """Gives the action values of `make_network`, and gradients that are not finite."""

    def __init__(self):
        super().__init__()
        self.linear = make_network()

    def __call__(self, observation):
        @tf.custom_gradient
        def spoil(values):
            return values, lambda gradient: gradient * np.inf

        return spoil(self.linear(observation))


@pytest.mark.parametrize("rule", [None, outliers.OutlierRule(6.0)])
def test_a_loss_that_is_not_finite_is_discarded_and_learning_goes_on(rule, capsys):
    store = fakes.RecordingStore(make_store())
    watch = finite.Watch()
    learner = make_learner(
        store, Batches(BAD_LOSS, BATCH), outlier_rule=rule, watch=watch
    )
    before = store.pull().vector
    assert learner.step(3) == dqn.LearnerStep(None, None)
    np.testing.assert_array_equal(store.pull().vector, before)
    assert store.counted == [("add_steps", 3)]
    assert watch.count == 1
    assert capsys.readouterr().out.startswith("update 0: loss is nan;")
    assert learner.step(4).push.applied
    assert watch.count == 1
    assert rule is None or rule.save()["batches"] == 1  # It has not seen the other.


def test_a_gradient_that_is_not_finite_is_discarded_though_its_loss_is_finite(capsys):
    store = fakes.RecordingStore(make_store())
    learner = make_learner(store, Batches(BATCH), network=Spoiling())
    before = store.pull().vector
    assert learner.step() == dqn.LearnerStep(None, None)
    np.testing.assert_array_equal(store.pull().vector, before)
    assert store.pushed == []
    sentence = "update 0: gradient is nan in 4 of its 4 values, the first in "
    assert sentence in capsys.readouterr().out


def test_losses_in_a_row_that_are_not_finite_end_the_learner():
    store = make_store()
    batches = Batches(BAD_LOSS, BAD_LOSS, BATCH, *[BAD_LOSS] * 3)
    watch = finite.Watch(max_in_a_row=3)
    learner = make_learner(store, batches, watch=watch)
    for _ in range(5):  # The good one in between begins a new row.
        learner.step()
    with pytest.raises(finite.NonFiniteError) as caught:
        learner.step()
    assert str(caught.value) == (
        "update 1: loss is nan, the last of 3 in a row that were not finite "
        "(max_nonfinite_in_a_row): learning has diverged; lower the learning rate, or "
        "clip gradients (max_gradient_norm)."
    )
    assert store.statistics().updates == 1


def test_without_a_batch_nothing_is_pushed_or_counted():
    store, batches = fakes.RecordingStore(make_store()), Batches(None, BATCH)
    learner = make_learner(store, batches, batch_timeout_secs=0.25)
    assert learner.step(3) is None
    assert store.counted == []
    assert learner.step(4).push.applied
    assert store.counted == [("push", 4)]
    assert batches.timeouts_secs == [0.25, 0.25]


def test_a_stop_is_not_kept_waiting_by_an_empty_replay():
    """Whoever steps the learner looks between two waits whether to stop."""
    batches = Batches()
    assert make_learner(make_store(), batches).step() is None
    [timeout_secs] = batches.timeouts_secs
    assert 0.0 < timeout_secs < 5.0


def test_the_first_worker_offers_its_parameters_and_others_take_them():
    store = make_store()
    for values in (ONLINE, TARGET):
        network = make_network(values)
        learner = make_learner(store, Batches(), network=network)
        np.testing.assert_array_equal(network.w.numpy(), ONLINE)
        np.testing.assert_array_equal(learner.snapshot.vector, ONLINE.ravel())


def test_the_snapshot_is_that_of_the_last_pull():
    store = make_store()
    learner = make_learner(store, Batches(BATCH))
    learner.step(5)
    assert learner.snapshot.updates == 0
    assert learner.pull().updates == 1
    assert learner.snapshot.updates == 1
    assert learner.snapshot.steps == 5


def test_variables_are_the_stores():
    store = make_store()
    learner = make_learner(store, Batches(BATCH), network=make_network(ONLINE))
    assert isinstance(learner, acme_core.VariableSource)
    learner.step()
    [[values], [target]] = learner.get_variables(
        [core.PARAMETERS, core.TARGET_PARAMETERS]
    )
    np.testing.assert_array_equal(values, weights(store))
    np.testing.assert_array_equal(target, ONLINE)


class TorsoAndHead(snt.Module):
    def __init__(self, torso, head):
        super().__init__()
        self.torso, self.head = torso, head

    def __call__(self, observations):
        return self.head(self.torso(observations))


def test_a_target_network_that_shares_a_variable_is_refused():
    torso = make_network()
    network, target_network = (
        TorsoAndHead(torso, make_network(values)) for values in (ONLINE, TARGET)
    )
    with pytest.raises(ValueError, match="share linear/w:0: build the target"):
        make_learner(
            make_store(), Batches(), network=network, target_network=target_network
        )
