"""Tests of rlcomponents.nodes.worker."""

import pytest

from rlcomponents import core
from rlcomponents.nodes import worker
from rlcomponents.runs import node_state
from rlcomponents.testing import fakes


class Work:
    """Counts its steps, and how often it is closed."""

    def __init__(self, *, steps_each=1, fails_at=None):
        self.steps = 0
        self.num_closes = 0
        self._steps_each = steps_each
        self._fails_at = fails_at

    def step(self):
        self.steps += self._steps_each
        if self.steps == self._fails_at:
            raise RuntimeError("no more")
        return self.steps

    def close(self):
        self.num_closes += 1


def make_worker(work, *, max_steps=1_000, wait_for_stop, count_steps=None, state=None):
    return worker.SteppedWorker(
        work.step,
        count_steps=count_steps or (lambda: work.steps),
        max_steps=max_steps,
        wait_for_stop=wait_for_stop,
        close=work.close,
        state=state,
    )


def test_steps_until_the_budget_is_spent_then_waits_for_the_stop():
    work, wait_for_stop = Work(steps_each=2), fakes.StopAfter(10)
    make_worker(work, max_steps=5, wait_for_stop=wait_for_stop).run()
    assert work.steps == 6
    assert work.num_closes == 1
    # A look before each of three steps, then waits until the eleventh call is the stop.
    assert wait_for_stop.waits_secs[:3] == [0, 0, 0]
    assert all(secs > 0 for secs in wait_for_stop.waits_secs[3:])
    assert len(wait_for_stop.waits_secs) == 11


def test_what_the_budget_is_spent_by_others_counts_too():
    work = Work(steps_each=1_000)  # It hears of 1,000 steps after its first one.
    make_worker(work, max_steps=1_000, wait_for_stop=fakes.StopAfter(5)).run()
    assert work.steps == 1_000


def test_the_work_goes_on_where_the_store_has_lost_steps():
    work = Work()

    def count_steps():
        if work.steps == 5:
            work.steps = 3  # A shard died while all stood still, and came back.
        return work.steps

    wait_for_stop = fakes.StopAfter(10)
    make_worker(
        work, max_steps=5, wait_for_stop=wait_for_stop, count_steps=count_steps
    ).run()
    # Five steps, a rest, two steps, a rest, two steps. Steps are looked at in rests.
    assert [secs > 0 for secs in wait_for_stop.waits_secs[:9]] == (
        [False] * 5 + [True] + [False] * 2 + [True]
    )
    assert work.num_closes == 1


def test_a_worker_that_goes_on_has_not_come_to_its_end(tmp_path):
    work, path = SavedWork(), tmp_path / "worker-0.json"
    state = node_state.NodeState(path, period_secs=1e9)
    state.keep("work", work)
    ended = []

    def count_steps():
        ended.append(node_state.read(path)["ended"])
        work.steps = 3
        return work.steps

    class Failing(Exception):
        pass

    def step():
        if ended:
            ended.append(node_state.read(path)["ended"])
            raise Failing
        return SavedWork.step(work)

    stepped = worker.SteppedWorker(
        step,
        count_steps=count_steps,
        max_steps=5,
        wait_for_stop=fakes.StopAfter(20),
        close=work.close,
        state=state,
    )
    with pytest.raises(Failing):
        stepped.run()
    assert ended == [True, False]


def test_a_stop_ends_the_work_before_the_budget_is_spent():
    work = Work()
    make_worker(work, wait_for_stop=fakes.StopAfter(4)).run()
    assert work.steps == 4
    assert work.num_closes == 1


def test_a_stop_before_the_first_step_leaves_it_out():
    work = Work()
    make_worker(work, wait_for_stop=fakes.StopAfter(0)).run()
    assert (work.steps, work.num_closes) == (0, 1)


def test_it_is_closed_also_where_a_step_fails():
    work = Work(fails_at=3)
    with pytest.raises(RuntimeError, match="no more"):
        make_worker(work, wait_for_stop=fakes.StopAfter(10)).run()
    assert (work.steps, work.num_closes) == (3, 1)


def test_it_can_be_stepped_by_hand():
    work = Work()
    by_hand = make_worker(work, wait_for_stop=fakes.StopAfter(0))
    assert [by_hand.step(), by_hand.step()] == [1, 2]


class WaitingWork(Work):
    """Waits for a shard that is away: the stop comes first, or the wait is given up."""

    def step(self):
        super().step()
        raise core.StoreUnavailableError("parameters/1 is away")


def test_a_stop_while_a_shard_is_away_is_no_failure():
    work = WaitingWork()
    make_worker(work, wait_for_stop=fakes.StopAfter(1)).run()
    assert (work.steps, work.num_closes) == (1, 1)


def test_without_a_stop_a_shard_that_is_away_is_a_failure():
    work = WaitingWork()
    with pytest.raises(core.StoreUnavailableError):
        make_worker(work, wait_for_stop=fakes.StopAfter(9)).run()
    assert work.num_closes == 1


# What it goes on from.


class SavedWork(Work):
    def save(self):
        return {"steps": self.steps}


@pytest.mark.parametrize("num_calls", [3, 10], ids=["stopped", "budget spent"])
def test_its_state_is_saved_when_the_work_is_over(tmp_path, num_calls):
    work, path = SavedWork(), tmp_path / "worker-0.json"
    state = node_state.NodeState(path, period_secs=1e9)
    state.keep("work", work)
    make_worker(
        work, max_steps=5, wait_for_stop=fakes.StopAfter(num_calls), state=state
    ).run()
    saved = node_state.read(path)
    assert saved["ended"]
    assert saved["agent_steps"] == saved["parts"]["work"]["steps"] == min(num_calls, 5)


def test_a_worker_that_fails_has_not_come_to_its_end(tmp_path):
    work, path = SavedWork(fails_at=3), tmp_path / "worker-0.json"
    state = node_state.NodeState(path, period_secs=0.0)
    state.keep("work", work)
    with pytest.raises(RuntimeError, match="no more"):
        make_worker(work, wait_for_stop=fakes.StopAfter(10), state=state).run()
    saved = node_state.read(path)
    assert not saved["ended"]
    assert saved["parts"]["work"]["steps"] == 2
