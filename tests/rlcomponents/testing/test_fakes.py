"""Tests of rlcomponents.testing.fakes."""

import numpy as np
from absl.testing import absltest

from rlcomponents import core, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, update_rules
from rlcomponents.testing import environment_contract, fakes


class TestScriptedGame(environment_contract.EnvironmentContract, absltest.TestCase):
    different_seeds = None

    def make_environment(self, seed):
        del seed
        return fakes.ScriptedGame([[1.0, 0.0], [2.0]])


def test_a_reset_after_a_lost_life_goes_on_with_the_game():
    game = fakes.ScriptedGame([[1.0], [2.0]])
    places, overs = [], []
    for _ in range(3):
        places.append(list(game.reset().observation))
        game.step(0)
        overs.append(game.game_over)
    assert places == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert overs == [False, True, False]


def test_a_game_can_end_by_truncation():
    game = fakes.ScriptedGame([[1.0]], truncated=True)
    game.reset()
    assert game.step(0).discount == 1.0


def make_local_store():
    layout = layouts.ParameterLayout(["w"], [[2]])
    store = local_store.LocalStore(
        layout,
        update_rules.SGD(),
        schedules.Constant(1.0),
        max_staleness_updates=None,
        target_period_updates=1,
    )
    store.initialise(np.zeros(2, np.float32))
    return store


def test_the_recording_store_passes_on_and_notes():
    inner, rivals = make_local_store(), []
    store = fakes.RecordingStore(inner, before_push=lambda: rivals.append(1))
    ones = np.ones(2, np.float32)
    assert not store.initialise(ones)
    assert store.push(ones, store.pull().versions, 3).applied
    assert store.add_steps(4) == 7
    assert store.statistics() == inner.statistics()
    np.testing.assert_array_equal(store.pull(target=True).vector, -ones)
    np.testing.assert_array_equal(store.get_variables([core.PARAMETERS])[0][0], -ones)
    assert store.counted == [("push", 3), ("add_steps", 4)]
    np.testing.assert_array_equal(store.pushed, [ones])
    assert store.num_target_pulls == 1
    assert rivals == [1]


def test_a_stop_comes_after_so_many_calls():
    wait_for_stop = fakes.StopAfter(2)
    assert [wait_for_stop(secs) for secs in (0, 1.5, 0)] == [False, False, True]
    assert wait_for_stop.waits_secs == [0, 1.5, 0]


def test_clock_and_reporter_do_as_told():
    clock, reporter = fakes.ManualClock(3.0), fakes.RecordingReporter()
    clock.secs += 1
    reporter.write({"time_secs": clock()})
    assert reporter.rows == [{"time_secs": 4.0}]
