"""Tests of the live view, with recorded rows and a text buffer for a screen."""

import io
import re
import sys

import pytest

from rlcomponents.runs import metrics, node_table, progress, run_folder
from rlcomponents.testing import terminals

ROW = {
    "agent_steps": 2500,
    "updates": 600,
    "train_return": 3.456,
    "evaluation_return": 4.1,
    "mean_staleness_updates": 1.25,
    "discarded_stale": 12,
    "discarded_outlier": 3,
    "replay_items": 500,
    "replay_capacity_items": 2000,
    "steps_per_sec": 100.0,
    "frames_per_sec": 400.0,
    "updates_per_sec": 25.04,
}

LINE = (
    "25% of 10,000 steps   1:15 left   100 steps/s   400 frames/s   25.0 updates/s   "
    "return 3.46   evaluation 4.10   staleness 1.25 updates   "
    "discarded 12 stale + 3 outliers   replay 25% full"
)


class Clock:
    """A clock that goes when told."""

    secs = 100.0

    def __call__(self):
        return self.secs


class View:
    """A view of a run in a temporary folder, and what it needs."""

    def __init__(self, path, *, is_terminal, stream=None):
        self.folder = run_folder.RunFolder(path)
        self.program = metrics.MetricsWriter(
            self.folder.program_csv, metrics.PROGRAM_COLUMNS
        )
        self.clock = Clock()
        self.stream = self.screen = stream or io.StringIO()
        self.view = progress.ProgressView(
            self.folder,
            10_000,
            stream=self.stream,
            is_terminal=is_terminal,
            clock=self.clock,
        )

    def write_nodes(self, *names, state="running"):
        rows = [
            node_table.NodeRow(
                name=name,
                state=state,
                log_path="node.log",
                pid=index + 10,
                cpu_fraction=0.85,
                memory_bytes=431_000_000,
            )
            for index, name in enumerate(names)
        ]
        node_table.write(self.folder.nodes_json, rows)

    def write_evaluation(self, mean_return, agent_steps):
        writer = metrics.MetricsWriter(
            self.folder.evaluation_csv, metrics.EVALUATION_COLUMNS
        )
        writer.write(
            {
                "agent_steps": agent_steps,
                "mean_return": mean_return,
                "standard_error": 0.5,
                "episodes": 10,
            }
        )
        writer.close()

    def take(self):
        """Returns what was printed since the last call."""
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text


@pytest.fixture
def plain(tmp_path):
    return View(tmp_path, is_terminal=False)


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """A view on a terminal of 80 columns and 24 rows."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    return View(tmp_path, is_terminal=True, stream=terminals.FakeTerminal(80, 24))


def test_before_the_first_row_the_view_says_starting(plain):
    plain.clock.secs += 5
    plain.view.tick()
    assert plain.take() == f"starting: 0:05, node logs in {plain.folder.logs}\n"


def test_a_plain_line_shows_everything_without_escape_codes(plain):
    plain.program.write(ROW)
    plain.view.tick()
    assert plain.take() == LINE + "\n"


def test_plain_lines_come_at_most_every_ten_seconds(plain):
    for second in range(25):
        plain.clock.secs = 100.0 + second
        plain.program.write(ROW)
        plain.view.tick()
    assert plain.take().count("\n") == 3  # At 0, 10 and 20 seconds.


def test_the_last_of_several_new_rows_is_shown(plain):
    plain.program.write(ROW)
    plain.program.write(ROW | {"agent_steps": 5000})
    plain.view.tick()
    assert plain.take().startswith("50% of 10,000 steps   0:50 left")


def test_waiting_is_visible(plain):
    plain.program.write(ROW | {"waiting": "waiting for replay: 120 of 1000"})
    plain.view.tick()
    assert plain.take() == LINE + "   waiting for replay: 120 of 1000\n"


def test_what_was_not_finite_is_shown_where_there_was_any(plain):
    plain.program.write(ROW | {"discarded_nonfinite": 2})
    plain.view.tick()
    assert "discarded 12 stale + 3 outliers + 2 not finite   replay" in plain.take()


def test_what_is_not_known_yet_is_a_dash(plain):
    plain.program.write({"agent_steps": 0, "train_return": float("nan")})
    plain.view.tick()
    assert plain.take() == (
        "0% of 10,000 steps   -:-- left   - steps/s   - frames/s   - updates/s   "
        "return -   evaluation -   staleness - updates   "
        "discarded 0 stale + 0 outliers\n"
    )


def test_rows_before_a_resume_are_not_shown(tmp_path):
    before = metrics.MetricsWriter(
        tmp_path / "metrics" / "program.csv", metrics.PROGRAM_COLUMNS
    )
    before.write(ROW)
    resumed = View(tmp_path, is_terminal=False)
    resumed.view.tick()
    assert resumed.take().startswith("starting:")


def test_steps_beyond_the_last_are_no_negative_time(plain):
    plain.program.write(ROW | {"agent_steps": 10_200})
    plain.view.tick()
    assert plain.take().startswith("100% of 10,000 steps   0:00 left")


def test_close_prints_the_last_state_once(plain):
    plain.program.write(ROW)
    plain.view.tick()
    plain.take()
    plain.view.close()
    assert plain.take() == ""
    plain.program.write(ROW | {"agent_steps": 10_000})
    plain.view.close()
    assert plain.take().startswith("100% of 10,000 steps")


def test_a_terminal_shows_progress_totals_nodes_and_the_last_evaluation(terminal):
    terminal.program.write(ROW | {"waiting": "workers are starting"})
    terminal.write_nodes("learner/0", "replay/0")
    terminal.write_evaluation(4.1, agent_steps=2_000)
    terminal.write_evaluation(4.25, agent_steps=2_400)
    terminal.view.tick()
    assert terminal.screen.lines() == [
        "█████░░░░░░░░░░░░░░░   25% of 10,000 steps   1:15 left",
        "100 steps/s   400 frames/s   25.0 updates/s   return 3.46",
        "staleness 1.25 updates   discarded 12 stale + 3 outliers   replay 25% full",
        "workers are starting",
        "",
        "node         CPU  memory  state",
        "learner/0    85%  431 MB  running",
        "replay/0     85%  431 MB  running",
        "",
        "evaluation 4.25 ± 0.50 over 10 episodes, at step 2,400",
    ]


def test_before_the_first_row_a_terminal_shows_who_is_starting(terminal):
    terminal.write_nodes("learner/0", state="starting")
    terminal.view.tick()
    assert terminal.screen.lines()[0].startswith("starting: 0:00, node logs in ")
    assert terminal.screen.lines()[-1].split() == [
        *("learner/0", "85%", "431", "MB", "starting")
    ]


def test_a_picture_takes_the_place_of_the_one_before_in_one_write(terminal):
    terminal.program.write(ROW)
    terminal.write_nodes("learner/0", "replay/0")
    terminal.view.tick()
    terminal.write_nodes("learner/0")
    terminal.program.write(ROW | {"agent_steps": 10_000})
    before = terminal.screen.num_writes
    terminal.view.tick()
    assert terminal.screen.num_writes == before + 1
    assert terminal.screen.lines() == [
        "████████████████████   100% of 10,000 steps   0:00 left",
        "100 steps/s   400 frames/s   25.0 updates/s   return 3.46",
        "staleness 1.25 updates   discarded 12 stale + 3 outliers   replay 25% full",
        "",
        "node         CPU  memory  state",
        "learner/0    85%  431 MB  running",
    ]


@pytest.mark.parametrize(("columns", "rows"), [(60, 24), (40, 10), (100, 40), (20, 5)])
def test_a_terminal_that_changes_its_size_has_one_picture_of_that_size(
    terminal, monkeypatch, columns, rows
):
    terminal.program.write(ROW)
    terminal.write_nodes(*(f"bundle/{index}" for index in range(4)))
    terminal.view.tick()
    terminal.screen.resize(columns, rows)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    terminal.view.tick()
    lines = terminal.screen.visible_lines()  # What has scrolled away stays as it was.
    assert lines[0].startswith("█████░░░░░")
    assert sum("█████░░░░░" in line for line in lines) == 1
    assert len(lines) < rows
    assert max(map(len, lines)) < columns


def test_the_last_picture_stays_and_what_comes_next_is_below_it(terminal):
    terminal.program.write(ROW)
    terminal.write_nodes("learner/0")
    terminal.view.tick()
    terminal.view.close()
    terminal.screen.write("Ended (interrupted)\n")
    assert terminal.screen.lines()[-2:] == [
        "learner/0    85%  431 MB  running",
        "Ended (interrupted)",
    ]
    assert terminal.screen.is_cursor_shown


def test_the_cursor_is_shown_whenever_nothing_is_being_drawn(terminal):
    terminal.program.write(ROW)
    terminal.view.tick()
    assert terminal.screen.is_cursor_shown
    assert terminal.screen.was_cursor_hidden


def test_no_color_is_respected(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLORTERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    view = View(tmp_path, is_terminal=True)
    view.program.write(ROW | {"waiting": "waiting"})
    monkeypatch.setenv("NO_COLOR", "1")
    view.view.tick()
    assert not re.search(r"\x1b\[[\d;]*m", view.take())
    monkeypatch.delenv("NO_COLOR")
    view.view.tick()
    assert re.findall(r"\x1b\[[\d;]*m", view.take()) == [
        *("\x1b[32m", "\x1b[0m", "\x1b[33m", "\x1b[0m")
    ]


def test_a_stream_without_unicode_gets_ascii(terminal):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    view = progress.ProgressView(
        terminal.folder, 10_000, stream=stream, is_terminal=True, clock=terminal.clock
    )
    terminal.program.write(ROW)
    terminal.write_evaluation(4.25, agent_steps=2_400)
    view.tick()
    assert b"#####---------------   25%" in stream.buffer.getvalue()
    assert b"evaluation 4.25 ? 0.50 over" in stream.buffer.getvalue()


def test_a_line_stands_above_the_picture_and_stays(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.screen)  # One terminal, as is usual.
    terminal.program.write(ROW)
    terminal.view.tick()
    picture = terminal.screen.lines()
    terminal.view.say("worker/1 starts again")
    terminal.view.say("worker/2 " + "starts again " * 10)  # Longer than a line.
    terminal.view.tick()
    lines = terminal.screen.lines()
    assert lines[0] == "worker/1 starts again"
    assert lines[1].startswith("worker/2 starts again starts")
    assert lines[3:] == picture


def test_without_a_terminal_a_line_is_just_printed(tmp_path, capsys):
    view = View(tmp_path, is_terminal=False)
    view.view.say("worker/1 starts again")
    assert view.take() == ""
    assert capsys.readouterr().err == "worker/1 starts again\n"


def test_a_picture_that_cannot_be_drawn_is_told_of_once_and_plain_lines_go_on(
    tmp_path, monkeypatch, capsys
):
    def draw(*args, **settings):
        raise ZeroDivisionError("no columns")

    monkeypatch.setattr(progress.live_view, "draw", draw)
    view = View(tmp_path, is_terminal=True)
    view.program.write(ROW)
    for second in range(25):
        view.clock.secs = 100.0 + second
        view.view.tick()
    view.view.close()
    [line] = capsys.readouterr().err.splitlines()
    assert line == (
        "The live view cannot be drawn, and the run goes on with plain lines: "
        "ZeroDivisionError: no columns"
    )
    assert view.take() == f"{LINE}\n" * 3


def test_files_that_cannot_be_read_are_told_of_once(plain, capsys):
    with plain.folder.program_csv.open("a") as file:
        file.write("1,2,3\n")
    for _ in range(3):
        plain.view.tick()
    plain.view.close()
    [line] = capsys.readouterr().err.splitlines()
    assert "has a line of 3 fields under a header of" in line


def test_a_terminal_that_takes_no_more_is_for_the_caller(tmp_path):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    view = progress.ProgressView(
        run_folder.RunFolder(tmp_path), 10, stream=Gone(), is_terminal=True
    )
    with pytest.raises(BrokenPipeError):
        view.tick()
