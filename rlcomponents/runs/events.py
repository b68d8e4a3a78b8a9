"""TensorBoard event files, written without TensorFlow.

Each record is the system's before `write` returns: a run that is told to stop has lost
nothing that it logged. tensorboardX's own `SummaryWriter` hands events to a thread,
whose queue a signal can cut off; only its encoding is used.
"""

import os
import pathlib
import re
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from tensorboardX import record_writer, summary
from tensorboardX.proto import event_pb2

from rlcomponents.runs import append_file
from rlcomponents.runs import disk as disks

RETURNS = ("evaluation/mean_return", "program/train_return")
"""Tags of what the settings of several runs are compared by."""


class EventsWriter:
    """Writes settings, scalars and videos, by the node's role. For one thread.

    What a full disk does not take is lost.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        first_step: int | None = None,
        disk: disks.Disk | None = None,
    ) -> None:
        """Starts a new event file; TensorBoard joins it to those already there.

        Args:
            directory: Made if missing.
            first_step: What earlier files have from this step on is void: the run goes
                on from before. None: there is nothing of that kind.
            disk: Says where the file cannot be written. None: on the screen.
        """
        name = (
            f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}."
            f"{os.getpid()}"
        )
        self._path = directory / name
        self._first_step = first_step
        self._disk = disk or disks.Disk()
        self._file: append_file.AppendFile | None = None
        with self._disk.survived(str(directory)):
            self._open()

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Writes the settings of the run: as a table, and to compare runs by.

        Args:
            settings: By name; bool, int, float, str or None. TensorBoard's comparison
                knows no None, so there it is a blank.
        """
        rows = "".join(f"| {name} | `{value}` |\n" for name, value in settings.items())
        table = f"| setting | value |\n| --- | --- |\n{rows}"
        experiment, start, _ = summary.hparams(
            dict(settings), dict.fromkeys(RETURNS, 0.0)
        )
        for part in (summary.text("settings", table), experiment, start):
            self._append(part, 0)

    def write(
        self, node: str, row: Mapping[str, float | int | str | None], agent_steps: int
    ) -> None:
        """Writes the numbers of one row; text and None are left out.

        Args:
            node: Name of the node. Column `loss` of node `bundle_3` becomes the tag
                `bundle/loss/3`: nodes of one role share a group, side by side.
            row: Scalars by column.
            agent_steps: Place on the horizontal axis.
        """
        role, index = _split(node)
        values = [
            summary.scalar(f"{role}/{column}{index}", float(value)).value[0]
            for column, value in row.items()
            if value is not None and not isinstance(value, str)
        ]
        if not values:
            return
        self._append(summary.Summary(value=values), int(agent_steps))

    def write_video(self, node: str, gif: bytes, agent_steps: int) -> None:
        """Writes a video, which plays among TensorBoard's images.

        Args:
            node: Name of the node; the tag is `<role>/video`, as `write` has it.
            gif: An animated GIF, whole.
            agent_steps: What of training it shows.
        """
        role, index = _split(node)
        width, height = struct.unpack("<HH", gif[6:10])  # Of every GIF.
        picture = summary.Summary.Image(
            width=width, height=height, colorspace=3, encoded_image_string=gif
        )
        value = summary.Summary.Value(tag=f"{role}/video{index}", image=picture)
        self._append(summary.Summary(value=[value]), agent_steps)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def _append(self, content: summary.Summary, step: int) -> None:
        event = event_pb2.Event(wall_time=time.time(), step=step, summary=content)
        with self._disk.survived(str(self._path.parent)):
            self._open().append(_record(event))

    def _open(self) -> append_file.AppendFile:
        """Returns the file; opens it where that could not be done before."""
        if self._file is not None:
            return self._file
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = append_file.AppendFile(self._path)
        version = event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2")
        head = _record(version)
        if self._first_step is not None:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            head += _record(
                event_pb2.Event(
                    wall_time=time.time(), step=self._first_step, session_log=start
                )
            )
        try:
            file.append(head)
        except OSError:
            file.close()
            raise
        self._file = file
        return file


def _record(event: event_pb2.Event) -> bytes:
    """Returns an event as a TFRecord: lengths and checksums around it."""
    payload = event.SerializeToString()
    length = struct.pack("<Q", len(payload))
    return b"".join(
        (
            length,
            struct.pack("<I", record_writer.masked_crc32c(length)),
            payload,
            struct.pack("<I", record_writer.masked_crc32c(payload)),
        )
    )


def _split(node: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.+?)[-_./]?(\d+)", node)
    return (match[1], f"/{match[2]}") if match else (node, "")
