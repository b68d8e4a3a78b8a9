"""Tests of rlcomponents.nodes.reporting."""

import types

import pytest

from rlcomponents import core, environment_loop
from rlcomponents.learners import actor_learner, async_worker, dqn
from rlcomponents.nodes import reporting
from rlcomponents.runs import worker_report
from rlcomponents.testing import fakes

GAME = environment_loop.EpisodeEnd(episode_return=5.0, length_steps=2)
PUSHED = dqn.LearnerStep(0.5, core.PushResult((core.Verdict.APPLIED,), (0,)))
OUTLIER = dqn.LearnerStep(9.0, None)


class Scripted:
    """Returns its results, step by step; the steps of all actors go up by 10 each."""

    def __init__(self, *results):
        self._results = iter(results)
        self.global_steps = 0
        self.num_pulls = 0

    @property
    def snapshot(self):
        return types.SimpleNamespace(steps=self.global_steps)

    def step(self):
        self.global_steps += 10
        return next(self._results)

    def pull(self):
        self.num_pulls += 1


@pytest.fixture
def clock():
    return fakes.ManualClock()


@pytest.fixture
def reporter():
    return fakes.RecordingReporter()


@pytest.fixture
def report(reporter, clock):
    return worker_report.WorkerReport(reporter, period_secs=1.0, clock=clock)


def make_actor(report, *games, max_steps=1_000):
    sync = Scripted(*[None] * len(games))
    loop = types.SimpleNamespace(step=iter(games).__next__)
    return reporting.ReportingActor(
        loop, sync, report, epsilon=lambda: 0.25, max_steps=max_steps
    )


def make_learner(report, *steps, replay_items=lambda: 7, max_steps=1_000):
    return reporting.ReportingLearner(
        Scripted(*steps),
        report,
        replay_items=replay_items,
        min_replay_items=100,
        max_steps=max_steps,
    )


def make_bundle(report, *steps, replay_items=lambda: 7, max_steps=1_000):
    return reporting.ReportingActorLearner(
        Scripted(*(actor_learner.ActorLearnerStep(*step) for step in steps)),
        report,
        epsilon=lambda: 0.25,
        replay_items=replay_items,
        min_replay_items=100,
        max_steps=max_steps,
    )


def columns(row, *names):
    return [row.get(name) for name in names]


def test_an_actor_reports_steps_games_and_epsilon(report, reporter, clock):
    actor = make_actor(report, None, GAME, None)
    assert [actor.step(), actor.step()] == [10, 20]  # Steps of all actors.
    clock.secs = 1.0
    actor.step()
    names = ("agent_steps", "episodes", "episode_return", "epsilon", "waiting")
    assert columns(reporter.rows[0], *names) == [1, 0, None, 0.25, None]
    assert columns(reporter.rows[1], *names) == [3, 1, 5.0, 0.25, None]


def test_a_row_is_written_once_a_period(report, reporter, clock):
    actor = make_actor(report, *[None] * 30)
    for step in range(30):
        clock.secs = step / 10
        actor.step()
    assert [row["agent_steps"] for row in reporter.rows] == [1, 11, 21]


@pytest.mark.parametrize(
    ("make", "result"),
    [(make_actor, GAME), (make_learner, PUSHED), (make_bundle, (GAME, PUSHED))],
)
def test_the_turn_that_spends_the_budget_is_reported(report, reporter, make, result):
    turns = make(report, result, result, result, max_steps=30)
    assert [turns.step() for _ in range(3)] == [10, 20, 30]
    assert len(reporter.rows) == 2  # The first, which is due at once, and the last.
    assert 3 in columns(reporter.rows[-1], "episodes", "updates")


def test_a_learner_reports_updates_losses_and_replay(report, reporter, clock):
    learner = make_learner(report, PUSHED, PUSHED, OUTLIER)
    assert learner.step() == 10
    learner.step()
    clock.secs = 1.0
    learner.step()
    names = ("updates", "discarded_outlier", "loss", "replay_items", "waiting")
    assert columns(reporter.rows[0], *names) == [1, 0, 0.5, 7, None]
    assert columns(reporter.rows[1], *names) == [2, 1, 4.75, 7, None]


@pytest.mark.parametrize(
    ("replay_items", "waiting"),
    [
        (lambda: 40, "waiting for replay: 40 of 100 items"),
        (lambda: 100, "waiting for new items in replay"),
        (None, "waiting for replay: 100 items needed"),
    ],
)
def test_a_learner_says_that_it_waits(report, reporter, clock, replay_items, waiting):
    learner = make_learner(report, None, PUSHED, replay_items=replay_items)
    learner.step()
    clock.secs = 1.0
    learner.step()
    assert columns(reporter.rows[0], "updates", "waiting") == [0, waiting]
    assert columns(reporter.rows[1], "updates", "waiting") == [1, None]


def test_only_one_learner_counts_what_is_in_replay(report, reporter):
    make_learner(report, PUSHED, replay_items=None).step()
    assert reporter.rows[0]["replay_items"] is None


def test_a_gradient_that_a_shard_did_not_answer_is_counted_as_lost(report, reporter):
    verdicts = (core.Verdict.APPLIED, core.Verdict.LOST)
    lost = dqn.LearnerStep(2.0, core.PushResult(verdicts, (0, 0)))
    make_learner(report, lost, replay_items=None).step()
    assert columns(reporter.rows[0], "updates", "discarded_lost") == [1, 1]


def test_a_learner_without_batches_still_hears_of_the_budget(report):
    learner = Scripted(None, PUSHED)
    turns = reporting.ReportingLearner(
        learner, report, replay_items=None, min_replay_items=1, max_steps=1_000
    )
    turns.step()
    assert learner.num_pulls == 1
    turns.step()
    assert learner.num_pulls == 1  # A learner step pulls by itself.


def test_a_bundle_reports_what_actor_and_learner_do(report, reporter, clock):
    bundle = make_bundle(
        report, (None, PUSHED), (GAME, OUTLIER), (None, None), replay_items=lambda: 200
    )
    assert bundle.step() == 10
    bundle.step()
    clock.secs = 1.0
    bundle.step()
    assert reporter.rows[1] == {
        "time_secs": reporter.rows[1]["time_secs"],
        "agent_steps": 3,
        "episodes": 1,
        "episode_return": 5.0,
        "updates": 1,
        "loss": 9.0,
        "discarded_outlier": 1,
        "discarded_lost": 0,
        "discarded_nonfinite": 0,
        "epsilon": 0.25,
        "replay_items": 200,
        "waiting": None,
    }


def test_a_bundle_says_how_far_its_replay_is_filled(report, reporter, clock):
    items = iter([12, 100])
    bundle = make_bundle(
        report, (None, None), (None, None), replay_items=lambda: next(items)
    )
    bundle.step()
    clock.secs = 1.0
    bundle.step()
    assert reporter.rows[0]["waiting"] == "waiting for replay: 12 of 100 items"
    assert reporter.rows[1]["waiting"] is None


def test_replay_is_not_asked_between_rows(report):
    items = iter([12])
    bundle = make_bundle(report, *[(None, None)] * 3, replay_items=lambda: next(items))
    for _ in range(3):
        bundle.step()


# --------------------------------------------------------- workers of whole rollouts


class Rollouts:
    """Plays scripted rollouts; its snapshot is of the steps before each of them."""

    def __init__(self, *steps, epsilon=0.25):
        self._steps = iter(steps)
        self._taken = 0
        self.epsilon = epsilon

    @property
    def snapshot(self):
        return types.SimpleNamespace(steps=self._before)

    def step(self):
        step = next(self._steps)
        self._before, self._taken = self._taken, self._taken + step.steps
        return step


def rollout_of(steps, *episodes, loss=0.5):
    return async_worker.WorkerStep(steps, loss, PUSHED.push, episodes)


def make_async_worker(report, *steps, max_steps=1_000, **settings):
    return reporting.ReportingAsyncWorker(
        Rollouts(*steps, **settings), report, max_steps=max_steps
    )


def test_an_asynchronous_worker_reports_rollouts_games_and_losses(
    report, reporter, clock
):
    turns = make_async_worker(
        report,
        rollout_of(5),
        rollout_of(3, GAME, GAME._replace(episode_return=8.0), loss=1.0),
        rollout_of(5, loss=2.0),
    )
    # A rollout's own steps are in what it knows of the steps of all.
    assert [turns.step(), turns.step()] == [5, 8]
    clock.secs = 1.0
    assert turns.step() == 13
    assert len(reporter.rows) == 2
    names = ("agent_steps", "updates", "episodes", "episode_return", "loss", "epsilon")
    assert columns(reporter.rows[1], *names) == [13, 3, 2, 6.5, 1.5, 0.25]


def test_an_asynchronous_workers_last_rollout_is_reported(report, reporter):
    turns = make_async_worker(report, *[rollout_of(5)] * 3, max_steps=15, epsilon=None)
    for _ in range(3):
        turns.step()
    assert [row["agent_steps"] for row in reporter.rows] == [5, 15]
    assert reporter.rows[-1]["epsilon"] is None
