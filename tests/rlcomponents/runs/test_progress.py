"""Tests of the live view, with recorded rows and a text buffer for a screen."""

import io
import re
import sys

import pytest

from rlcomponents.runs import metrics, progress, run_folder

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

    def __init__(self, path, *, is_terminal):
        self.folder = run_folder.RunFolder(path)
        self.program = metrics.MetricsWriter(
            self.folder.program_csv, metrics.PROGRAM_COLUMNS
        )
        self.clock = Clock()
        self.stream = io.StringIO()
        self.view = progress.ProgressView(
            self.folder,
            10_000,
            stream=self.stream,
            is_terminal=is_terminal,
            clock=self.clock,
        )

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
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")
    return View(tmp_path, is_terminal=True)


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


def test_a_terminal_line_is_rewritten_in_place(terminal):
    terminal.program.write(ROW)
    terminal.view.tick()
    bar = "█" * 5 + "░" * 15
    assert terminal.take() == f"\r\x1b[J{bar}   {LINE}"
    terminal.program.write(ROW | {"agent_steps": 10_000})
    terminal.view.tick()
    text = terminal.take()
    assert text.startswith("\r\x1b[J" + "█" * 20 + "   100% of 10,000")
    assert "\n" not in text
    terminal.view.close()
    assert terminal.take().endswith("replay 25% full\n")


def test_a_narrow_terminal_gets_more_lines_and_loses_nothing(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    terminal.program.write(ROW | {"waiting": "waiting for replay: 120 of 1000"})
    terminal.view.tick()
    lines = terminal.take().removeprefix("\r\x1b[J").split("\n")
    assert max(map(len, lines)) < 80
    shown = "   ".join(lines)
    assert shown.endswith(f"{LINE}   waiting for replay: 120 of 1000")
    terminal.view.tick()
    assert terminal.take().startswith(f"\r\x1b[{len(lines) - 1}A\x1b[J")


def test_no_color_is_respected(terminal, monkeypatch):
    terminal.program.write(ROW | {"waiting": "waiting"})
    terminal.view.tick()
    assert not re.search(r"\x1b\[\d+m", terminal.take())
    monkeypatch.delenv("NO_COLOR")
    terminal.view.tick()
    assert re.findall(r"\x1b\[\d+m", terminal.take()) == [
        "\x1b[32m",
        "\x1b[0m",
        "\x1b[33m",
        "\x1b[0m",
    ]


def test_a_stream_without_unicode_gets_an_ascii_bar(terminal):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    view = progress.ProgressView(
        terminal.folder, 10_000, stream=stream, is_terminal=True, clock=terminal.clock
    )
    terminal.program.write(ROW)
    view.tick()
    assert b"#####---------------   25%" in stream.buffer.getvalue()


def test_a_line_stands_above_the_block_and_does_not_tear_it(tmp_path, monkeypatch):
    view = View(tmp_path, is_terminal=True)
    monkeypatch.setattr(sys, "stderr", view.stream)  # One terminal, as is usual.
    view.view.tick()
    block = view.take()
    view.view.say("worker/1 starts again")
    shown = view.take()
    assert shown.startswith("\r")
    assert "\x1b[Jworker/1 starts again\n" in shown
    assert shown.endswith(block.removeprefix("\r\x1b[J"))


def test_without_a_terminal_a_line_is_just_printed(tmp_path, capsys):
    view = View(tmp_path, is_terminal=False)
    view.view.say("worker/1 starts again")
    assert view.take() == ""
    assert capsys.readouterr().err == "worker/1 starts again\n"
