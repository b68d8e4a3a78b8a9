"""Tests of processes that end with their parent."""

import os
import signal
import subprocess
import sys

from rlcomponents.launching import parent_death


def test_a_command_runs_as_it_is_and_in_the_process_that_was_started():
    script = "import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(7)"
    command = [sys.executable, "-c", script, "one", "two words"]
    process = subprocess.Popen(
        parent_death.terminated_with_this(command), stdout=subprocess.PIPE, text=True
    )
    output, _ = process.communicate()
    assert output == f"{process.pid} ['one', 'two words']\n"
    assert process.returncode == 7


def test_a_command_is_sent_sigterm_when_its_parent_is_killed():
    # The last one tells how it ends through a pipe that outlives its parent.
    child = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('terminated', flush=True))\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    parent = (
        "import subprocess, sys\n"
        "from rlcomponents.launching import parent_death\n"
        f"command = [sys.executable, '-c', {child!r}]\n"
        "subprocess.run(parent_death.terminated_with_this(command))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
        assert process.stdout.readline() == "terminated\n"


def test_a_process_whose_parent_has_died_already_ends_at_once():
    script = (
        "import signal\n"
        "from rlcomponents.launching import parent_death\n"
        f"parent_death.die_with({os.getppid()}, signal.SIGTERM)\n"
        "print('goes on')\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert (result.returncode, result.stdout) == (1, b"")
