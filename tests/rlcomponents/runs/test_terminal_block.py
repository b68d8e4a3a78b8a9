"""Tests of rlcomponents.runs.terminal_block."""

import io

import pytest

from rlcomponents.runs import terminal_block
from rlcomponents.testing import terminals


@pytest.fixture
def terminal():
    return terminals.FakeTerminal(20, 8)


@pytest.fixture
def block(terminal):
    return terminal_block.TerminalBlock(terminal, len)


def test_a_block_takes_the_place_of_the_one_before(terminal, block):
    terminal.write("before\n")
    block.draw(["one", "two", "three"], 20)
    block.draw(["1"], 20)
    assert terminal.lines() == ["before", "1"]
    block.draw(["un", "deux"], 20)
    assert terminal.lines() == ["before", "un", "deux"]


def test_a_block_at_the_bottom_of_the_terminal_stays_there(terminal, block):
    terminal.write("before\n" * 20)
    for number in range(3):
        block.draw([f"{number}", "two", "three"], 20)
    assert terminal.lines()[19:] == ["before", "2", "two", "three"]


def test_what_is_printed_after_a_block_was_cleared_stands_above_the_next(
    terminal, block
):
    block.draw(["one", "two"], 20)
    block.clear(20)
    terminal.write("news\n")
    block.draw(["1", "2"], 20)
    assert terminal.lines() == ["news", "1", "2"]


def test_a_block_is_found_again_where_the_terminal_has_broken_its_lines(
    terminal, block
):
    terminal.write("before\n")
    block.draw(["a line of 18 chars", "", "short"], 20)
    terminal.resize(5, 8)
    block.draw(["1234"], 5)
    assert terminal.lines() == ["befor", "e", "1234"]


def test_the_cursor_is_hidden_only_within_one_write(terminal, block):
    block.draw(["one"], 20)
    assert terminal.was_cursor_hidden
    assert terminal.is_cursor_shown
    assert terminal.num_writes == 1


def test_what_the_terminal_cannot_show_is_a_question_mark():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal_block.TerminalBlock(stream, len).draw(["4.30 ± 0.41"], 20)
    assert b"4.30 ? 0.41" in stream.buffer.getvalue()
