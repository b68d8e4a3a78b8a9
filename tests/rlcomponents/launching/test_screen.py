"""Tests of what is shown, above all where showing fails."""

import pytest

from rlcomponents.launching import screen


def test_a_line_is_shown_on_stderr(capsys):
    screen.Screen(None, None).say("worker/0 starts again")
    assert capsys.readouterr() == ("", "worker/0 starts again\n")


def test_the_same_line_is_shown_once_in_a_while(monkeypatch):
    said = []
    shown_on = screen.Screen(None, said.append)
    for line in ("disk full", "disk full", "disk is back", "disk full"):
        shown_on.say_now_and_then(line)
    assert said == ["disk full", "disk is back"]
    monkeypatch.setattr(screen, "_SAME_LINE_SECS", 0.0)
    shown_on.say_now_and_then("disk full")
    assert said[2:] == ["disk full"]


def test_a_view_on_a_full_disk_is_told_of_once_and_tried_again():
    ticks, said = [], []

    def on_tick():
        ticks.append(None)
        raise OSError(28, "No space left on device")

    shown_on = screen.Screen(on_tick, said.append)
    for _ in range(3):
        shown_on.tick()
    assert len(ticks) == 3
    assert shown_on.error is None
    [line] = said
    assert line.startswith("The live view fails and the program goes on: ")
    assert line.endswith("No space left on device")


@pytest.mark.parametrize("kind", [BrokenPipeError, ZeroDivisionError])
def test_what_ends_the_program_is_kept_and_the_view_is_left_alone(kind):
    ticks = []

    def on_tick():
        ticks.append(None)
        raise kind

    shown_on = screen.Screen(on_tick, None)
    shown_on.tick()
    shown_on.tick()
    assert len(ticks) == 1
    assert isinstance(shown_on.error, kind)


def test_a_screen_that_is_gone_is_no_error():
    def on_message(line):
        raise OSError("no terminal")

    screen.Screen(None, on_message).say("worker/0 starts again")
