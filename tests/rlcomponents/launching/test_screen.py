"""Tests of what is shown, above all where showing fails."""

import pytest

from rlcomponents import pulse
from rlcomponents.launching import screen


def fails(what="rows"):
    return pulse.DiskNews(what, True, f"CANNOT WRITE {what}")


def works(what="rows"):
    return pulse.DiskNews(what, False, f"{what} can be written again")


@pytest.fixture
def said():
    return []


@pytest.fixture
def shown_on(said):
    return screen.Screen(None, said.append)


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


def test_of_all_nodes_that_a_disk_fails_one_says_so(shown_on, said):
    for node in ("coordinator/0", "replay/0", "parameters/0"):
        shown_on.show(node, fails())
    shown_on.show("replay/0", fails("the log"))
    assert said == ["coordinator/0: CANNOT WRITE rows"]


def test_a_disk_works_again_when_the_last_node_says_so(shown_on, said):
    shown_on.show("coordinator/0", fails())
    shown_on.show("replay/0", fails())
    shown_on.show("coordinator/0", works())
    assert len(said) == 1
    shown_on.show("replay/0", works())
    assert said[1:] == ["replay/0: rows can be written again"]


def test_a_disk_that_fails_anew_is_told_of_anew_and_at_once(shown_on, said):
    for _ in range(2):
        shown_on.show("coordinator/0", fails())
        shown_on.show("coordinator/0", works())
    assert (
        said
        == [
            "coordinator/0: CANNOT WRITE rows",
            "coordinator/0: rows can be written again",
        ]
        * 2
    )


def test_a_disk_that_fails_silences_nothing_else(shown_on, said):
    shown_on.show("coordinator/0", fails())
    shown_on.show("actor/0", "replay/0 went away")
    assert said[1:] == ["actor/0: replay/0 went away"]


def test_a_node_that_starts_anew_leaves_no_trouble_behind(shown_on, said):
    shown_on.show("replay/0", fails())
    shown_on.forget("replay/0")
    shown_on.show("replay/0", works())  # Nobody knows of what.
    shown_on.show("coordinator/0", fails())
    assert said[1:] == ["coordinator/0: CANNOT WRITE rows"]


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
