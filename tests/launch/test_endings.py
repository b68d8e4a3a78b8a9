"""Every way in which a run ends from outside: what it leaves, and that it goes on."""

import os
import pathlib
import re
import signal

import psutil
import pytest

from rlcomponents.runs import checkpoints, run_folder, summary
from rlcomponents.testing import faults

FLAGS = (
    *("--environment=catch", "--run_dir=run", "--max_steps=1000000"),
    *("--checkpoint_period_secs=1", "--final_evaluation_episodes=2"),
)
DQN = ("--min_replay_items=50", "--batch_size=8")

# The way of ending, what the run's summary says of it, and the exit code.
INTERRUPTED = (signal.SIGINT,), "interrupted", 130
FORCED = (signal.SIGINT, signal.SIGINT), "interrupted", 130
TERMINATED = (signal.SIGTERM,), "terminated by SIGTERM", 143
HUNG_UP = (signal.SIGHUP,), "terminated by SIGHUP", 143
KILLED = (signal.SIGKILL,), "running", -signal.SIGKILL

LIVES = {
    "dqn": ("dqn", DQN, (HUNG_UP,)),
    "gorila, bundled": ("gorila_dqn", DQN, (KILLED,)),
    "gorila, central": ("gorila_dqn", (*DQN, "--mode=central"), (FORCED, TERMINATED)),
    "a3c, in shared memory": ("a3c", (), (KILLED, INTERRUPTED)),
    "async_q, on servers": ("async_q", ("--parameter_store=server",), (TERMINATED,)),
}


class Left:
    """What a running program would leave if nobody cleared up."""

    def __init__(self, launcher_pid):
        launcher = psutil.Process(launcher_pid)
        self._processes = [launcher, *launcher.children(recursive=True)]
        self._memory = {
            file
            for process in self._processes
            for file in shared_memory_of(process.pid)
        }

    def has_shared_memory(self):
        return bool(self._memory)

    def processes(self):
        """Names the processes that still run, after some time to die."""
        alive = psutil.wait_procs(self._processes, timeout=20.0)[1]
        return [process for process in alive if process.status() != "zombie"]

    def segments(self):
        """Names the memory that is still there: open somewhere, or in a folder."""
        still_open = {
            file for pid in psutil.pids() for file in shared_memory_of(pid)
        } & self._memory
        named = {path for path, _ in self._memory if path.startswith("/dev/shm/")}
        return [*still_open, *filter(os.path.exists, named)]


def shared_memory_of(pid):
    """Returns path and inode of what a process maps of memfd and /dev/shm."""
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:  # It has ended, or belongs to somebody else.
        return []
    found = re.findall(r"^\S+ \S+ \S+ \S+ (\d+) +(/memfd:|/dev/shm/)(\S*)", maps, re.M)
    return [(place + name, inode) for inode, place, name in found]


def end(script, folder, signals):
    """Sends signals to the launcher, each once the one before has been heeded."""
    first, *others = signals
    if not others:
        script.process.send_signal(first)
        return
    # One that does not stop, as a reason for the second.
    with faults.Faults(folder.path).stopped("evaluator/0"):
        script.process.send_signal(first)
        script.wait_until(lambda: summary.read(folder.summary_json).reason == "stopped")
        for number in others:
            script.process.send_signal(number)
        script.process.wait(60.0)


def saved_steps(folder):
    path = checkpoints.latest(folder.checkpoints)
    return checkpoints.load(path)[1]["agent_steps"] if path else 0


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.parametrize("which", LIVES)
def test_a_run_that_is_ended_leaves_nothing_and_goes_on(start, tmp_path, which):
    agent, flags, endings = LIVES[which]
    folder = run_folder.RunFolder(tmp_path / "run")
    script = start(agent, tmp_path, *FLAGS, *flags)
    before = 0
    for signals, reason, expected in endings:
        script.wait_until(lambda least=before: saved_steps(folder) > least, 240.0)
        left = Left(script.process.pid)
        assert left.has_shared_memory() == ("shared" in which)
        end(script, folder, signals)
        exit_code, _, errors = script.wait()
        assert exit_code == expected, errors
        assert summary.read(folder.summary_json).reason == reason
        assert left.processes() == []
        assert left.segments() == []
        was_forced = "evaluator/0 had not stopped after" in errors
        assert was_forced == (len(signals) > 1)
        before = saved_steps(folder)
        script = start(agent, tmp_path, "--resume=run", f"--max_steps={10**6 + before}")

    script.wait_until(lambda: saved_steps(folder) > before, 240.0)
    script.interrupt()
    exit_code, output, _ = script.wait()
    assert exit_code == 130
    assert f"{before:,} agent steps" in output.splitlines()[0]
    assert summary.read(folder.summary_json).agent_steps > before
