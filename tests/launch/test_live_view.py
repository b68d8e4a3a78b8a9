"""What a person at a terminal sees of a run, and what a pipe gets."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

import pytest

from rlcomponents.testing import terminals

ROOT = pathlib.Path(__file__).parents[2]
FLAGS = (
    *("--environment=catch", "--run_dir=run"),
    *("--min_replay_items=50", "--batch_size=8", "--final_evaluation_episodes=2"),
    "--num_bundles=2",
)
SHORT = "--max_steps=600"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
COLUMNS, ROWS = 100, 30


class TerminalRun:
    """A training script at a terminal."""

    def __init__(self, folder, *argv, **variables):
        leader, terminal = pty.openpty()
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
        dropped = ("TF_", "GRPC_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(dropped)
        }
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "launch" / "gorila_dqn.py", *FLAGS, *argv],
            cwd=folder,
            env=environment | {"TERM": "xterm"} | variables,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        self._leader = leader
        self.shown = ""

    def read_until(self, pattern):
        """Reads until the pattern is in what was shown, or all of it is read."""
        while not re.search(pattern, self.shown):
            try:
                read = os.read(self._leader, 65_536)
            except OSError:  # The other end is closed.
                return False
            self.shown += read.decode()
        return True

    def end(self):
        """Returns the exit code."""
        self.read_until(r"\Z.")
        return self.process.wait()

    def lines(self):
        """Returns what stands on the terminal in the end."""
        terminal = terminals.FakeTerminal(COLUMNS, ROWS)
        terminal.write(self.shown.replace("\r\n", "\n"))
        return terminal.lines()

    def close(self):
        os.close(self._leader)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


@pytest.fixture
def at_terminal(tmp_path):
    started = []

    def start(*argv, **variables):
        started.append(TerminalRun(tmp_path, *argv, **variables))
        return started[-1]

    yield start
    for run in started:
        run.close()


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_terminal_has_the_table_of_nodes_under_the_progress(at_terminal):
    run = at_terminal(SHORT)
    assert run.end() == 0, run.shown
    assert "starting: " in run.shown
    assert COLOUR.search(run.shown)
    lines = run.lines()
    [top] = [index for index, line in enumerate(lines) if "of 600 steps" in line]
    assert lines[top].startswith("████████████████████   100% of 600 steps")
    names = [line.split()[0] for line in lines[top:] if "/" in line.split(" ")[0]]
    assert names == [
        *("parameters/0", "parameters/1", "bundle/0", "bundle/1"),
        *("evaluator/0", "coordinator/0"),
    ]
    assert re.fullmatch(r"evaluation \S+ ± \S+ over 2 episodes, at step \d+", lines[-5])
    assert lines[-4].startswith("Ended (max_steps): ")
    # While it went on, nodes had numbers.
    shown = COLOUR.sub("", run.shown)
    assert re.search(
        r"bundle/1 +[\d.]+ +[\d.]+ +[\d.]+ .* \d+% +\d+ MB  running", shown
    )
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_ctrl_c_leaves_the_last_table_and_the_cursor_and_no_color_has_none(at_terminal):
    run = at_terminal("--max_steps=1000000", NO_COLOR="1")
    assert run.read_until(r"bundle/0 [^\r]* MB  running")
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    assert not COLOUR.search(run.shown)
    assert run.shown.rfind("\x1b[?25h") > run.shown.rfind("\x1b[?25l")
    lines = run.lines()
    assert sum("of 1,000,000 steps" in line for line in lines) <= 1
    assert sum(line.startswith("bundle/1 ") for line in lines) == 1
    assert any(line.startswith("Ended (interrupted): ") for line in lines)


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["pipe", "dumb terminal", "quiet"])
def test_elsewhere_there_are_plain_lines_without_escape_codes(
    start, at_terminal, tmp_path, kind
):
    if kind == "dumb terminal":
        run = at_terminal(SHORT, TERM="dumb")
        assert run.end() == 0
        output, errors = run.shown, ""
    else:
        quiet = ["--quiet"] if kind == "quiet" else []
        script = start("gorila_dqn", tmp_path, *FLAGS, SHORT, *quiet)
        exit_code, output, errors = script.wait()
        assert exit_code == 0
    assert "\x1b" not in output + errors
    lines = output.splitlines()
    shown = [line for line in lines if " of 600 steps   " in line]
    assert bool(shown) == (kind != "quiet")
    if kind == "quiet":
        assert [" ".join(line.split()[:2]) for line in lines] == [
            *("Ended (max_steps):", "Evaluation after"),
            *("Best evaluation,", f"Curve: {lines[-1].split()[-1]}"),
        ]
