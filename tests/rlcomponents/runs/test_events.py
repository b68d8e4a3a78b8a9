"""Tests of TensorBoard event files, read back record by record."""

import signal
import struct
import subprocess
import sys

import numpy as np
from tensorboardX.proto import event_pb2

from rlcomponents.runs import events


def read_scalars(directory):
    """Returns `(tag, step, value)` of every scalar, in the order written."""
    scalars = []
    for path in sorted(directory.glob("events*")):
        record = path.read_bytes()
        while record:
            # Length, checksum of the length, payload, checksum of the payload.
            (num_bytes,) = struct.unpack("<Q", record[:8])
            event = event_pb2.Event.FromString(record[12 : 12 + num_bytes])
            record = record[12 + num_bytes + 4 :]
            scalars += [
                (value.tag, event.step, value.simple_value)
                for value in event.summary.value
            ]
    return scalars


def test_scalars_are_grouped_by_role(tmp_path):
    writer = events.EventsWriter(tmp_path)
    writer.write("program", {"train_return": 1.5, "updates": np.int64(2)}, 10)
    writer.write("bundle_3", {"loss": np.float32(0.25)}, 20)
    assert read_scalars(tmp_path) == [
        ("program/train_return", 10, 1.5),
        ("program/updates", 10, 2.0),
        ("bundle/loss/3", 20, 0.25),
    ]


def test_text_and_blanks_are_left_out(tmp_path):
    writer = events.EventsWriter(tmp_path)
    writer.write("actor_0", {"waiting": "for replay", "loss": None}, 1)
    assert read_scalars(tmp_path) == []


def test_a_second_writer_keeps_what_the_first_wrote(tmp_path):
    first = events.EventsWriter(tmp_path)
    first.write("program", {"updates": 1}, 1)
    first.close()
    code = (
        "import pathlib, sys\n"
        "from rlcomponents.runs import events\n"
        "writer = events.EventsWriter(pathlib.Path(sys.argv[1]))\n"
        "writer.write('program', {'updates': 2}, 2)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
    assert sorted(read_scalars(tmp_path)) == [
        ("program/updates", 1, 1.0),
        ("program/updates", 2, 2.0),
    ]


def test_event_files_are_flushed_when_the_process_is_terminated(tmp_path):
    code = (
        "import pathlib, signal, sys\n"
        "from rlcomponents.runs import events\n"
        "writer = events.EventsWriter(pathlib.Path(sys.argv[1]))\n"
        "for step in range(10):\n"
        "    writer.write('learner', {'loss': step / 2}, step)\n"
        "print('written', flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM
    assert read_scalars(tmp_path) == [
        ("learner/loss", step, step / 2) for step in range(10)
    ]


def test_what_is_void_in_earlier_files_is_marked(tmp_path):
    events.EventsWriter(tmp_path, first_step=7)
    (path,) = tmp_path.iterdir()
    record = path.read_bytes()
    (num_bytes,) = struct.unpack("<Q", record[:8])
    start = event_pb2.Event.FromString(record[12 + num_bytes + 4 + 12 : -4])
    assert start.session_log.status == event_pb2.SessionLog.START
    assert start.step == 7
