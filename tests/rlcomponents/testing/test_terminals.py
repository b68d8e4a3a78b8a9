"""Tests of rlcomponents.testing.terminals."""

import pytest

from rlcomponents.testing import terminals


def test_text_goes_where_the_cursor_is():
    terminal = terminals.FakeTerminal(10, 5)
    terminal.write("one\ntwo\n\x1b[2ASIX\rs")
    assert terminal.lines() == ["sIX", "two"]


def test_lines_that_are_too_long_go_on_below():
    terminal = terminals.FakeTerminal(4, 5)
    terminal.write("1234")
    assert terminal.lines() == ["1234"]
    terminal.write("56")
    assert terminal.lines() == ["1234", "56"]


def test_ends_of_lines_and_of_the_screen_are_cleared():
    terminal = terminals.FakeTerminal(10, 5)
    terminal.write("one\ntwo\nthree\x1b[2A\rO\x1b[K\n\x1b[J")
    assert terminal.lines() == ["O"]


def test_the_cursor_never_goes_to_what_has_scrolled_away():
    terminal = terminals.FakeTerminal(10, 3)
    terminal.write("1\n2\n3\n4\x1b[9A\rX")
    assert terminal.lines() == ["1", "X", "3", "4"]
    assert terminal.visible_lines() == ["X", "3", "4"]


def test_lines_are_broken_anew_where_it_becomes_narrower():
    terminal = terminals.FakeTerminal(10, 9)
    terminal.write("12345678\nab")
    terminal.resize(3, 9)
    assert terminal.lines() == ["123", "456", "78", "ab"]
    terminal.write("\x1b[1A\rX")
    assert terminal.lines()[2] == "X8"


@pytest.mark.parametrize("shown", ["\x1b[2C", "\x1b]0;title\x07", "\x1b[1K"])
def test_codes_that_it_does_not_know_are_refused(shown):
    with pytest.raises(AssertionError, match="Unknown"):
        terminals.FakeTerminal(10, 5).write(f"one{shown}")
