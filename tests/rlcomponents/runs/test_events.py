"""Tests of TensorBoard event files, read back record by record."""

import io
import signal
import struct
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from tensorboardX.proto import event_pb2, plugin_hparams_pb2

from rlcomponents.evaluation import gifs
from rlcomponents.runs import events


def read_values(directory):
    """Returns `(step, value)` of everything logged, in the order written."""
    values = []
    for path in sorted(directory.glob("events*")):
        record = path.read_bytes()
        while record:
            # Length, checksum of the length, payload, checksum of the payload.
            (num_bytes,) = struct.unpack("<Q", record[:8])
            event = event_pb2.Event.FromString(record[12 : 12 + num_bytes])
            record = record[12 + num_bytes + 4 :]
            values += [(event.step, value) for value in event.summary.value]
    return values


def read_scalars(directory):
    """Returns `(tag, step, value)` of every scalar, in the order written."""
    return [
        (value.tag, step, value.simple_value) for step, value in read_values(directory)
    ]


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


SETTINGS = {
    "agent": "a3c",
    "learning_rate": 0.5,
    "num_workers": 2,
    "recurrent": True,
    "max_abs_reward": None,
}


def test_settings_are_a_table(tmp_path):
    events.EventsWriter(tmp_path).write_settings(SETTINGS)
    step, table = read_values(tmp_path)[0]
    assert step == 0
    assert table.tag == "settings/text_summary"
    assert table.metadata.plugin_data.plugin_name == "text"
    lines = table.tensor.string_val[0].decode().splitlines()
    assert lines == [
        "| setting | value |",
        "| --- | --- |",
        "| agent | `a3c` |",
        "| learning_rate | `0.5` |",
        "| num_workers | `2` |",
        "| recurrent | `True` |",
        "| max_abs_reward | `None` |",
    ]


def test_runs_can_be_compared_by_their_settings(tmp_path):
    writer = events.EventsWriter(tmp_path)
    writer.write_settings(SETTINGS)
    writer.write("evaluation", {"mean_return": 3.0}, 10)
    writer.write("program", {"train_return": 2.0}, 10)
    values = [value for _, value in read_values(tmp_path)]
    plugins = [value.metadata.plugin_data for value in values[1:3]]
    assert {plugin.plugin_name for plugin in plugins} == {"hparams"}
    experiment, start = (
        plugin_hparams_pb2.HParamsPluginData.FromString(plugin.content)
        for plugin in plugins
    )
    compared = [info.name.tag for info in experiment.experiment.metric_infos]
    assert compared == [value.tag for value in values[3:]]
    given = start.session_start_info.hparams
    assert given["agent"].string_value == "a3c"
    assert given["learning_rate"].number_value == 0.5
    assert given["num_workers"].number_value == 2.0
    assert given["recurrent"].bool_value is True
    assert "max_abs_reward" not in given


def test_a_video_is_read_back_by_tensorboard_as_it_was_written(tmp_path):
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    screens = [np.full((20, 30, 3), value, np.uint8) for value in (0, 100, 200)]
    gif = gifs.encode(screens, frames_per_sec=10, max_bytes=100_000)
    writer = events.EventsWriter(tmp_path)
    writer.write("evaluation", {"mean_return": 1.0}, 10)
    writer.write_video("evaluation", gif, 10)
    writer.write_video("evaluation", gif, 20)
    accumulator = event_accumulator.EventAccumulator(str(tmp_path))
    accumulator.Reload()
    assert accumulator.Tags()["images"] == ["evaluation/video"]
    for video, step in zip(
        accumulator.Images("evaluation/video"), (10, 20), strict=True
    ):
        assert (video.step, video.width, video.height) == (step, 30, 20)
        assert video.encoded_image_string == gif
        frames = Image.open(io.BytesIO(video.encoded_image_string))
        assert frames.n_frames == 3
        for index, screen in enumerate(screens):
            frames.seek(index)
            np.testing.assert_array_equal(frames.convert("RGB"), screen)
