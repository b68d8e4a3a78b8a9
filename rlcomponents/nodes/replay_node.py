"""A replay server as a node of a program.

`lp.ReverbNode` imports Reverb, and with it TensorFlow, where a program is built. This
one does so where it runs, so that the launcher stays light. Its handle becomes the
server's address, for whatever client the node at the other end likes.
"""

from collections.abc import Callable
from typing import Any

import launchpad as lp
from launchpad.nodes import base

from rlcomponents import pulse
from rlcomponents.nodes import replay_saver, stopping

_STEP_SECS = 1.0


class ReplayHandle(base.Handle[str]):
    """Stands for a replay server while the program is built."""

    def __init__(self, address: lp.Address) -> None:
        """Keeps the address, which is not bound yet."""
        self._address = address

    def dereference(self) -> str:
        """Returns the server's address, "host:port"."""
        return self._address.resolve()


class ReplayNode(lp.PyNode):
    """Serves Reverb tables until the program stops.

    Attributes:
        make_tables: Returns the tables, inside the node.
    """

    def __init__(
        self,
        make_tables: Callable[[], list[Any]],
        *,
        folder: str | None = None,
        save_period_secs: float | None = None,
    ) -> None:
        """Builds nothing yet.

        Args:
            make_tables: Returns the tables (`reverb.Table`); called inside the node.
            folder: Where it saves what it holds, and finds it when it is started again.
                None: it starts empty.
            save_period_secs: Seconds from one save to the next; one more is made when
                the program stops. None: it never saves.
        """
        super().__init__(self.run)
        self.make_tables = make_tables
        self._folder = folder
        self._save_period_secs = save_period_secs
        self._address = lp.Address("replay")
        self.allocate_address(self._address)

    def create_handle(self) -> ReplayHandle:
        """See `launchpad.nodes.base.Node`."""
        return self._track_handle(ReplayHandle(self._address))

    def run(self) -> None:
        """Starts the server, and stops it when the program stops."""
        with pulse.current().starting():
            from rlcomponents.replay import servers  # Imports TensorFlow.

            port = lp.get_port_from_address(self._address.resolve())
            replay = servers.LocalReplay(
                self.make_tables(),
                port,
                folder=self._folder,
                wait_for_stop=stopping.wait_for_stop,
            )
        saver = None
        if self._folder is not None and self._save_period_secs is not None:
            saver = replay_saver.ReplaySaver(
                replay.save, self._folder, period_secs=self._save_period_secs
            )
        try:
            while not lp.stop_event().wait(_STEP_SECS):
                replay.show_counts()
                if saver is not None:
                    saver.check()
                pulse.current().completed_step()  # It has served for so long.
        finally:
            try:
                if saver is not None:
                    saver.close()
            finally:
                replay.close()
