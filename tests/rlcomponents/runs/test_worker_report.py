"""Tests of rlcomponents.runs.worker_report."""

import time

import pytest

from rlcomponents import core, pulse
from rlcomponents.runs import metrics, worker_report
from rlcomponents.testing import fakes


def make_report(clock=None, **settings):
    reporter = fakes.RecordingReporter()
    report = worker_report.WorkerReport(
        reporter, clock=clock or fakes.ManualClock(), **settings
    )
    return report, reporter.rows


def pushed(*verdicts, staleness_updates=0):
    return core.PushResult(verdicts, (staleness_updates,) * len(verdicts))


def test_counts_go_on_from_row_to_row():
    report, rows = make_report()
    for _ in range(2):
        report.add_steps(3)
        report.add_episode(1.0)
        report.add_update(0.5, pushed(core.Verdict.APPLIED, core.Verdict.LOST))
        report.add_update(0.5, None)
        report.add_update(0.5, None)
        report.write()
    counts = ("agent_steps", "episodes", "updates", "discarded_outlier")
    assert [row["discarded_lost"] for row in rows] == [1, 2]
    assert [[row[name] for name in counts] for row in rows] == [
        [3, 1, 1, 2],
        [6, 2, 2, 4],
    ]


def test_what_is_not_finite_is_counted_elsewhere_and_goes_on_after_a_restart():
    discarded = 0
    report, rows = make_report(discarded_nonfinite=lambda: discarded)
    report.write()
    discarded = 3
    report.write()
    assert [row["discarded_nonfinite"] for row in rows] == [0, 3]
    restarted, rows = make_report(discarded_nonfinite=lambda: 2)
    restarted.restore(report.save())
    restarted.write()
    assert [row["discarded_nonfinite"] for row in rows] == [5]


def test_returns_and_losses_are_means_since_the_last_row():
    report, rows = make_report()
    report.add_episode(1.0)
    report.add_episode(4.0)
    report.add_update(2.0, pushed(core.Verdict.APPLIED))
    report.add_update(10.0, None)
    report.write()
    report.add_episode(-1.0)
    report.write()
    means = [(row["episode_return"], row["loss"]) for row in rows]
    assert means == [(2.5, 6.0), (-1.0, None)]


def test_what_did_not_happen_is_blank():
    report, rows = make_report()
    report.write()
    assert (rows[0]["episode_return"], rows[0]["loss"]) == (None, None)


@pytest.fixture
def life():
    """The pulse of the calling thread, as that of a node."""
    own = pulse.Pulse()
    pulse.use_in_this_thread(own)
    yield own
    pulse.use_in_this_thread(None)


def test_whoever_watches_sees_counts_at_once_and_gradients_once_a_row(life):
    report, _ = make_report(discarded_nonfinite=lambda: 1)
    assert life.numbers == {}
    report.add_steps(5)
    assert life.numbers == {"agent_steps": 5}
    report.add_update(0.5, pushed(core.Verdict.APPLIED, staleness_updates=2))
    report.add_update(0.5, pushed(core.Verdict.STALE, staleness_updates=101))
    report.add_update(0.5, pushed(core.Verdict.APPLIED, core.Verdict.OTHER_EPOCH))
    report.add_update(0.5, None)
    assert life.numbers == {"agent_steps": 5, "updates": 3}
    report.write()
    assert life.numbers == {
        "agent_steps": 5,
        "updates": 3,
        "discarded": 4,  # Stale, of another epoch, an outlier, one not finite.
        "staleness_updates": 25.75,  # (2 + 101 + 0 + 0) / 4.
    }
    report.write()
    assert life.numbers["staleness_updates"] is None


def test_the_first_row_is_due_at_once_and_then_one_a_period():
    clock = fakes.ManualClock(50.0)
    report, _ = make_report(clock, period_secs=2.0)
    due = []
    for secs in (50.0, 51.9, 52.0, 60.0, 61.0, 62.0):
        clock.secs = secs
        due.append(report.is_due())
        if report.is_due():
            report.write()
    # 60.0 came late: the next one is a whole period after it.
    assert due == [True, False, True, True, False, True]


def test_rows_fit_a_workers_file(tmp_path):
    path = tmp_path / "actor-0.csv"
    writer = metrics.MetricsWriter(path, metrics.WORKER_COLUMNS)
    report = worker_report.WorkerReport(writer)
    report.add_steps(1)
    before = time.time()
    report.write(epsilon=0.25, replay_items=7, waiting="for replay")
    writer.close()
    [row] = metrics.MetricsFile(path).read_new()
    assert row.keys() == set(metrics.WORKER_COLUMNS)
    assert row["epsilon"] == 0.25
    assert row["replay_items"] == 7
    assert row["waiting"] == "for replay"
    assert row["time_secs"] >= before
