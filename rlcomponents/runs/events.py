"""TensorBoard event files, written without TensorFlow.

Each call writes through to the disk: a run that is told to stop has lost nothing that
it logged. tensorboardX's own `SummaryWriter` hands events to a thread, whose queue a
signal can cut off; its synchronous writer underneath is used instead.
"""

import os
import pathlib
import re
import time
from collections.abc import Mapping

from tensorboardX import event_file_writer, summary
from tensorboardX.proto import event_pb2


class EventsWriter:
    """Writes scalars, grouped in TensorBoard by the node's role. For one thread."""

    def __init__(self, directory: pathlib.Path) -> None:
        """Starts a new event file; TensorBoard joins it to those already there."""
        directory.mkdir(parents=True, exist_ok=True)
        self._writer = event_file_writer.EventsWriter(
            str(directory / "events"), filename_suffix=f".{os.getpid()}"
        )

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
        self._writer.write_event(
            event_pb2.Event(
                wall_time=time.time(),
                step=int(agent_steps),
                summary=summary.Summary(value=values),
            )
        )
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


def _split(node: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.+?)[-_./]?(\d+)", node)
    return (match[1], f"/{match[2]}") if match else (node, "")
