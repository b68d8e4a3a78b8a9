"""Tests of rlcomponents.dashboard.logs."""

import os

import pytest

from rlcomponents.dashboard import logs


def test_what_comes_later_is_read_on_from_where_it_was(tmp_path):
    (tmp_path / "actor-0.log").write_text("one\n")
    first = logs.tail(tmp_path, "actor-0")
    assert first == ("one\n", 4, True)
    with (tmp_path / "actor-0.log").open("a") as file:
        file.write("two\nthr")
    assert logs.tail(tmp_path, "actor-0", 4) == ("two\nthr", 11, False)
    assert logs.tail(tmp_path, "actor-0", 11) == ("", 11, False)


def test_of_a_long_log_only_whole_lines_at_its_end_are_read(tmp_path):
    lines = [f"{number:07}\n" for number in range(20_000)]  # 8 bytes each.
    (tmp_path / "actor-0.log").write_text("".join(lines))
    text, offset_bytes, is_fresh_start = logs.tail(tmp_path, "actor-0", 8)
    assert is_fresh_start
    assert offset_bytes == 160_000
    assert text.endswith("0019999\n")
    assert text.splitlines()[0] == "0011809"  # 64 KiB hold 8192 lines; one is cut.


def test_a_log_that_became_shorter_is_read_anew(tmp_path):
    (tmp_path / "actor-0.log").write_text("new\n")
    assert logs.tail(tmp_path, "actor-0", 500) == ("new\n", 4, True)


def test_half_a_character_is_left_for_later(tmp_path):
    path = tmp_path / "actor-0.log"
    path.write_bytes("±1".encode()[:1])
    assert logs.tail(tmp_path, "actor-0") == ("", 0, True)
    path.write_bytes("±1".encode())
    assert logs.tail(tmp_path, "actor-0", 0) == ("±1", 3, False)


def test_what_is_no_text_and_escape_codes_end_nothing(tmp_path):
    (tmp_path / "actor-0.log").write_bytes(b"\xff\x00\x1b[31mred\x1b[0m\n")
    assert logs.tail(tmp_path, "actor-0").text == "\ufffd\0red\n"


@pytest.mark.parametrize(
    "name", ["", "../config", "/etc/hostname", "actor-0.log", "..%2fconfig", "a\0b"]
)
def test_only_names_of_logs_are_opened(tmp_path, name):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "actor-0.log").write_text("one\n")
    (tmp_path / "config.log").write_text("secret\n")
    with pytest.raises(ValueError, match="There is no log"):
        logs.tail(tmp_path / "logs", name)


def test_links_out_of_the_folder_and_pipes_are_no_logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (tmp_path / "secret.log").write_text("secret\n")
    (folder / "actor-0.log").symlink_to(tmp_path / "secret.log")
    (folder / "actor-1.log").symlink_to(folder / "actor-1.log")
    os.mkfifo(folder / "actor-2.log")  # Opening it would wait for ever.
    (folder / "actor-3.log").write_text("one\n")
    assert logs.names(folder) == ["actor-3"]


def test_a_run_that_has_not_begun_has_no_logs(tmp_path):
    assert logs.names(tmp_path / "logs") == []
