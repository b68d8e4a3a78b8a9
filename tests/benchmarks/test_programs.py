"""Tests of benchmarks.programs, with a program that counts and does nothing else."""

import os
import sys

import programs
import pytest

# Two updates a step, a row a step.
COUNTING = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
with (folder / "worker-0.csv").open("w", buffering=1) as file:
    file.write("time_secs,agent_steps,updates\\n")
    for step in range(100_000):
        file.write(f"{time.time():.6f},{step},{2 * step}\\n")
        sum(range(200_000))
"""

# Three rows, and no more.
SILENT = COUNTING.replace("range(100_000)", "range(3)") + "time.sleep(60)"


def contender(folder, source, **settings):
    command = [sys.executable, "-c", source, str(folder / "rows")]
    return programs.Contender("it", command, folder, "rows/*.csv", **settings)


def wait_until_stopped(program):
    """Returns once the kernel has stopped its one process, else never."""
    (process,) = program.processes()
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


@pytest.fixture
def counting(tmp_path):
    program = contender(tmp_path / "it", COUNTING, min_updates=10)
    yield program
    program.end()


def test_a_program_is_stopped_once_it_is_warm(counting):
    counting.start(num_workers=1)
    (rows,) = counting._read().values()
    assert rows[-1].updates >= 10
    wait_until_stopped(counting)


def test_a_round_counts_what_is_done_in_it_and_stops_the_program_again(counting):
    counting.start(num_workers=1)
    rates = counting.measure(secs=1.0)
    assert rates.steps_per_sec > 0.0
    assert rates.updates_per_sec == pytest.approx(2.0 * rates.steps_per_sec)
    wait_until_stopped(counting)


def test_who_says_too_little_in_a_round_is_refused(tmp_path):
    program = contender(tmp_path / "it", SILENT)
    program.start(num_workers=1)
    with pytest.raises(RuntimeError, match="said 0 times how far it was"):
        program.measure(secs=0.0)
    program.end()


def test_nothing_of_a_program_is_left_at_its_end(counting):
    counting.start(num_workers=1)
    (process,) = counting.processes()
    counting.end()
    assert not process.is_running()


def test_a_program_that_ends_before_it_works_is_named_with_its_last_words(tmp_path):
    program = contender(tmp_path / "it", "raise SystemExit('no such ' + 'game')")
    with pytest.raises(RuntimeError, match=r"it did not come to work.*no such game"):
        program.start(num_workers=1)
