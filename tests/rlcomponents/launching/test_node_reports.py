"""Tests of what a node tells the launcher, above all when nobody listens."""

import json
import os
import threading

import pytest

from rlcomponents import pulse
from rlcomponents.launching import node_reports


class Pipe:
    def __init__(self):
        self.reader, writer = os.pipe()
        self.reports = node_reports.Reports(writer)
        self.writer = writer

    def fill(self):
        """Leaves no room; returns how much is in it."""
        num_bytes = 0
        try:
            while True:
                num_bytes += os.write(self.writer, bytes(4096))
        except BlockingIOError:
            return num_bytes

    def read(self, num_bytes=65_536):
        return os.read(self.reader, num_bytes)

    def read_reports(self):
        return [json.loads(line) for line in self.read().splitlines()]

    def close(self):
        for descriptor in (self.reader, self.writer):
            os.close(descriptor)


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.close()


def test_a_pulse_says_how_the_node_is(pipe):
    life = pulse.Pulse()
    life.completed_step()
    life.show(updates=3)
    with life.stepping(), life.waiting("replay/0: 1 of 9 items"):
        pipe.reports.send_pulse(life)
    [report] = pipe.read_reports()
    assert 0.0 <= report.pop("waiting_secs") < 60.0
    assert report == {
        "event": "pulse",
        "steps": 1,
        "is_stepping": True,
        "is_starting": False,
        "numbers": {"updates": 3},
        "waiting_for": "replay/0: 1 of 9 items",
    }


def test_a_full_pipe_keeps_no_node_waiting_for_pulses(pipe):
    num_bytes = pipe.fill()
    pipe.reports.send_pulse(pulse.Pulse())
    pipe.reports.say("the disk is full")
    assert set(pipe.read(num_bytes)) == {0}
    pipe.reports.send_pulse(pulse.Pulse())
    assert [report["event"] for report in pipe.read_reports()] == ["pulse"]


def test_what_must_arrive_waits_for_room(pipe):
    num_bytes = pipe.fill()
    lines = ["x" * 500] * 40
    thread = threading.Thread(
        target=pipe.reports.send, args=("failed",), kwargs={"traceback": lines}
    )
    thread.start()
    while num_bytes:
        num_bytes -= len(pipe.read(num_bytes))
    received = b""
    while not received.endswith(b"\n"):
        received += pipe.read()
    thread.join()
    assert json.loads(received) == {"event": "failed", "traceback": lines}


def test_a_pulse_that_what_must_arrive_blocks_is_dropped(pipe, monkeypatch):
    monkeypatch.setattr(node_reports, "_MAX_LOCK_SECS", 0.0)
    with pipe.reports._lock:
        pipe.reports.send_pulse(pulse.Pulse())
    pipe.reports.send("returned")
    assert pipe.read_reports() == [{"event": "returned"}]


def test_a_launcher_that_is_gone_is_no_error(pipe):
    os.close(pipe.reader)
    pipe.reports.send("returned")
    pipe.reports.send_pulse(pulse.Pulse())
    pipe.reader = os.open(os.devnull, os.O_RDONLY)


def test_the_longest_line_to_say_fits_into_a_pipe_at_once(pipe, capsys):
    pipe.reports.say("\N{CROSS MARK}" * 10_000)
    [report] = pipe.read_reports()
    assert report == {"event": "say", "line": "\N{CROSS MARK}" * 500}
    assert len(json.dumps(report)) < 4096
    assert len(capsys.readouterr().out) == 10_001  # The log has all of it.


def test_a_full_disk_does_not_end_printing_and_is_said_once(pipe):
    with open("/dev/full", "wb", buffering=0) as full:
        stream = node_reports.text_stream(
            node_reports.Log(full.fileno(), pipe.reports.send_of_disk)
        )
        print("one", file=stream)
        print("two" * 10_000, file=stream)
        stream.flush()
    [report] = pipe.read_reports()
    line = report.pop("line")
    assert report == {"event": "disk", "what": "the log", "fails": True}
    assert line.startswith("CANNOT WRITE the log: No space left on device.")


def test_a_log_is_tried_again_and_says_that_lines_are_missing(pipe, tmp_path):
    path = tmp_path / "log"
    with open("/dev/full", "wb") as full, path.open("wb") as file:
        descriptor = os.dup(full.fileno())
        log = node_reports.Log(descriptor, pipe.reports.send_of_disk)
        log.mend()  # Nothing is missing yet.
        log.write(b"lost\n")
        log.mend()  # It still fails.
        os.dup2(file.fileno(), descriptor)  # There is room again.
        log.mend()
        log.mend()
        os.close(descriptor)
    assert path.read_text() == "(Lines are missing here: the disk took none.)\n"
    assert [report["fails"] for report in pipe.read_reports()] == [True, False]


def test_news_of_the_disk_goes_to_the_launcher_and_into_the_log(pipe, capsys):
    news = pulse.DiskNews("a/" * 500, True, "CANNOT\nWRITE " + "\N{CROSS MARK}" * 999)
    pipe.reports.say_of_disk(news)
    [report] = pipe.read_reports()
    assert report["what"] == "a/" * 75  # Its end: there the names differ.
    assert report["line"].startswith("CANNOT WRITE \N{CROSS MARK}")
    assert len(json.dumps(report)) < 4096
    assert capsys.readouterr().out == f"{news.line}\n"


def test_what_is_printed_is_in_the_log_at_once_and_in_order(pipe, tmp_path):
    path = tmp_path / "log"
    with path.open("ab") as file:
        log = node_reports.Log(file.fileno(), pipe.reports.send_of_disk)
        out, err = node_reports.text_stream(log), node_reports.text_stream(log)
        print("one", file=out)
        print("two \udcff", file=err)
        print("three", file=out)
        assert path.read_text() == "one\ntwo \\udcff\nthree\n"
        assert out.fileno() == file.fileno()
