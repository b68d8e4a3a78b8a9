"""Fixtures around the scripts: an empty folder to run in, and runs to look at."""

import importlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from rlcomponents.runs import summary

ROOT = pathlib.Path(__file__).parents[2]

GAME = """
import os
import signal
import sys
import time

import dm_env
import numpy as np
from dm_env import specs


class Guess(dm_env.Environment):
    '''Shows 0 or 1, and rewards saying the same; ten guesses a game.'''

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._num_steps = 10

    def reset(self):
        self._num_steps = 0
        return dm_env.restart(self._show())

    def step(self, action):
        if self._num_steps == 10:
            return self.reset()
        reward = float(action == self._shown)
        self._num_steps += 1
        if self._num_steps == 10:
            return dm_env.termination(reward, self._show())
        return dm_env.transition(reward, self._show())

    def _show(self):
        self._shown = int(self._rng.integers(2))
        return np.array([self._shown, 1 - self._shown], np.float64)

    def screen(self):
        return np.full((8, 8, 3), 255 * self._shown, np.uint8)

    def observation_spec(self):
        return specs.BoundedArray((2,), np.float64, 0.0, 1.0)

    def action_spec(self):
        return specs.DiscreteArray(2)


def make(seed):
    return Guess(seed)


def make_broken(seed):
    return [][seed]


def make_deadly(seed):
    '''Kills the process of whatever node calls it.'''
    if 'node_process' in sys.argv[0]:
        with open('deaths', 'a') as file:
            file.write(f'{time.time()}\\n')
        os.kill(os.getpid(), signal.SIGKILL)
    return Guess(seed)


class Faulty(Guess):
    def step(self, action):
        return super().step(action)._replace(reward=float('nan'))


class Breaking(Guess):
    '''Has no reward that is a number from its 301st step on.'''

    _until = 10**9

    def __init__(self, seed):
        super().__init__(seed)
        self._step = 0

    def step(self, action):
        self._step += 1
        timestep = super().step(action)
        if 300 < self._step <= self._until and not timestep.first():
            return timestep._replace(reward=float('nan'))
        return timestep


class Hiccuping(Breaking):
    '''Has three such steps.'''

    _until = 303


class Raising(Guess):
    def step(self, action):
        raise ZeroDivisionError('of the game')


class Continuous(Guess):
    def action_spec(self):
        return specs.BoundedArray((2,), np.float32, -1.0, 1.0)
"""


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """The current directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def users_game(empty_folder, monkeypatch):
    """Puts the user's module `guessing` into the current directory."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (empty_folder / "guessing.py").write_text(GAME)
    (empty_folder / "unfinished.py").write_text("def make(seed):\n")
    (empty_folder / "needy.py").write_text("import no_such_package\n")
    importlib.invalidate_caches()
    yield "module:guessing:make"
    for name in ("guessing", "needy"):
        sys.modules.pop(name, None)


@pytest.fixture
def refusal(capsys):
    """Runs a script's `main` with bad input; returns the sentence that it says."""

    def run(main, *argv):
        with pytest.raises(SystemExit) as ending:
            main(list(argv))
        assert ending.value.code == 2
        output, errors = capsys.readouterr()
        assert output == ""
        [line] = errors.splitlines()
        name, _, sentence = line.partition(": ")
        assert " " not in name
        return sentence

    return run


class Script:
    """A script in a process of its own, as a user starts it."""

    def __init__(self, name, folder, *argv, under=()):
        # What runs the tests may ignore some signals, as nohup and background jobs do.
        heeding = ("env", "--default-signal=HUP,INT")
        script = ROOT / "launch" / f"{name}.py"
        self.process = subprocess.Popen(
            [*heeding, *under, sys.executable, script, *argv],
            cwd=folder,
            env={
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("TF_", "GRPC_"))
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self):
        """Returns the exit code, and what was printed."""
        output, errors = self.process.communicate()
        return self.process.returncode, output, errors

    def wait_until(self, holds, timeout_secs=90.0):
        """Waits for what only the run folder tells."""
        for _ in range(int(timeout_secs / 0.2)):
            if holds():
                return
            try:
                self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"It has ended: {self.wait()}")
        raise AssertionError(f"It has not come to that in {timeout_secs} s.")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


@pytest.fixture
def start():
    """Starts scripts; kills those that are left."""
    started = []

    def start(name, folder, *argv, under=()):
        started.append(Script(name, folder, *argv, under=under))
        return started[-1]

    yield start
    for script in started:
        if script.process.poll() is None:
            script.process.kill()
            script.process.communicate()


@pytest.fixture
def node_processes():
    """Returns the process of each node of a run, as its log says."""

    def find(folder):
        return {
            log.stem: int(log.read_text().partition("starts as process ")[2].split()[0])
            for log in folder.logs.glob("*.log")
            if "starts as process " in log.read_text()
        }

    return find


@pytest.fixture
def has_updates():
    """Returns what asks whether a run has learned anything yet."""

    def ask(folder):
        return lambda: (
            folder.summary_json.exists()
            and summary.read(folder.summary_json).updates > 0
        )

    return ask
