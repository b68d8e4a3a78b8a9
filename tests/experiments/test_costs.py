"""Tests of what a run costs."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from experiments import costs


@pytest.fixture
def measured(tmp_path):
    """Runs a process that makes the folder of a run; returns what it cost."""

    def run(code="", flag="run_dir"):
        path = tmp_path / "run"
        made = f"import pathlib; pathlib.Path({str(path)!r}).mkdir(exist_ok=True)\n"
        command = [sys.executable, "-c", made + code, f"--{flag}={path}"]
        costs.MeasuringRunner().run(command)
        return costs.read(path)

    return run


def test_the_cpu_of_a_run_is_that_of_its_process_and_those_below(measured):
    child = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])"
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    assert measured(child.format(code=spin)).cpu_secs >= 0.5


def test_what_a_run_costs_adds_up_over_its_starts(measured):
    first = measured()
    both = measured(flag="resume")
    assert both.cpu_secs > first.cpu_secs


def test_a_run_that_began_unmeasured_stays_so(measured, tmp_path):
    (tmp_path / "run").mkdir()
    assert measured(flag="resume") is None


def test_a_run_of_which_a_part_was_killed_hard_is_not_measured(measured, tmp_path):
    measured()
    kill = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    path = tmp_path / "run"
    measuring = (
        "import sys\nfrom experiments import costs\n"
        f"costs.MeasuringRunner().run([sys.executable, '-c', {kill!r}, "
        f"'--resume={path}'])"
    )
    killed = subprocess.run([sys.executable, "-c", measuring])
    assert killed.returncode == -signal.SIGKILL
    assert costs.read(path) is None
    assert measured(flag="resume") is None  # Nor does it become so.


def test_a_run_that_begins_anew_is_measured_anew(measured, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / costs.FILE).write_text(
        "wall_secs,cpu_secs,peak_memory_bytes\n,,\n"
    )
    assert measured().cpu_secs > 0


def test_a_run_that_is_over_before_the_first_look_has_no_peak(measured, tmp_path):
    assert measured().peak_memory_bytes is None
    (tmp_path / costs.FILE).write_text(
        "wall_secs,cpu_secs,peak_memory_bytes\n1.0,2.0,0\n"
    )
    assert costs.read(tmp_path).peak_memory_bytes is None  # As it was written once.


def test_the_peak_is_the_highest_of_all_starts(tmp_path):
    (tmp_path / costs.FILE).write_text(
        "wall_secs,cpu_secs,peak_memory_bytes\n1.0,2.0,300\n1.0,3.0,100\n"
    )
    assert costs.read(tmp_path) == costs.Costs(cpu_secs=5.0, peak_memory_bytes=300.0)


def test_memory_is_counted_once_where_it_is_shared():
    process = psutil.Process(os.getpid())
    found = costs.memory_bytes([process])
    assert 0 < found <= process.memory_info().rss


def test_the_exit_code_is_the_processs(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit(3)", f"--run_dir={tmp_path}/run"]
    assert costs.MeasuringRunner().run(command) == 3
