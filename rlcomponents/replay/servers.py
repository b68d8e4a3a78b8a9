"""Reverb servers, and what they hold.

A Reverb server listens on every interface of its host and asks nobody for a password:
run it where the network is trusted.
"""

import math
import os
import socket
from collections.abc import Sequence
from typing import NamedTuple

import reverb

from rlcomponents.replay import tables as replay_tables


class ReplayInfo(NamedTuple):
    """What one table holds.

    Attributes:
        num_items: Items now.
        min_items: Items without which nothing is sampled.
        capacity_items: Items at most.
    """

    num_items: int
    min_items: int
    capacity_items: int


def make_server(
    tables: Sequence[reverb.Table],
    port: int | None = None,
    *,
    checkpoint_dir: str = os.devnull,
) -> reverb.Server:
    """Starts a server of the tables, in the background, on a port of this host.

    Args:
        tables: Not served by anybody else.
        port: Port to listen on. None: one that is free.
        checkpoint_dir: Where it saves what it holds when a client asks for that. By
            default nowhere: the client gets a RuntimeError. Reverb's own default leaves
            a folder in the machine's temporary one, for every server.
    """
    checkpointer = reverb.checkpointers.DefaultCheckpointer(checkpoint_dir)
    return reverb.Server(tables, port, checkpointer)


class LocalReplay:
    """A replay server inside this process. Thread-safe.

    Adders reach it at `address` like any other server; batches are drawn from its
    memory, not over the network. Nothing outside this process needs to know of it.
    """

    def __init__(
        self, tables: Sequence[reverb.Table], *, checkpoint_dir: str = os.devnull
    ) -> None:
        """Starts the server on a free port.

        Args:
            tables: Of `tables.make_tables`; not served by anybody else.
            checkpoint_dir: See `make_server`.
        """
        self._tables = tuple(tables)
        self._server = make_server(self._tables, checkpoint_dir=checkpoint_dir)

    @property
    def address(self) -> str:
        """`localhost:<port>`."""
        return f"localhost:{self._server.port}"

    @property
    def num_items(self) -> int:
        """Items in all tables."""
        return sum(table.info.current_size for table in self._tables)

    def close(self) -> None:
        """Stops the server. Close what draws from it first."""
        self._server.stop()


def is_listening(address: str, timeout_secs: float = 1.0) -> bool:
    """Returns whether a process has the port open, be it one that hangs.

    Args:
        address: `host:port`.
        timeout_secs: Longest wait. After it, somebody may well be there.
    """
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout_secs).close()
    except TimeoutError:
        return True
    except OSError:
        return False
    return True


def info(
    address: str, *, table: str = replay_tables.TABLE, timeout_secs: float = 1.0
) -> ReplayInfo:
    """Asks a server what one of its tables holds.

    Args:
        address: `host:port`.
        table: Name of the table.
        timeout_secs: Longest wait, in whole seconds (rounded up).

    Raises:
        TimeoutError: No answer in time.
        ValueError: No such table.
    """
    try:
        # A client of its own for each question: one that has failed to connect tries
        # again ever more rarely.
        tables = reverb.Client(address).server_info(max(1, math.ceil(timeout_secs)))
    except (reverb.DeadlineExceededError, RuntimeError) as error:
        raise TimeoutError(
            f"The replay server at {address} did not answer within {timeout_secs} s."
        ) from error
    if table not in tables:
        raise ValueError(
            f"The replay server at {address} has no table {table!r}; it has "
            f"{', '.join(sorted(tables))}."
        )
    found = tables[table]
    return ReplayInfo(
        num_items=found.current_size,
        min_items=found.rate_limiter_info.min_size_to_sample,
        capacity_items=found.max_size,
    )
