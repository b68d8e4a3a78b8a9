"""Reverb servers, and what they hold.

A Reverb server listens on every interface of its host and asks nobody for a password:
run it where the network is trusted.
"""

import errno
import math
import os
import pathlib
import shutil
import socket
import threading
from collections.abc import Sequence
from typing import NamedTuple

import reverb
import tensorflow as tf

from rlcomponents import core, pulse
from rlcomponents.replay import restoring, saves
from rlcomponents.replay import tables as replay_tables

_DISK_TROUBLES = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ESTALE,
    errno.ETIMEDOUT,
)


class ReplayInfo(NamedTuple):
    """What one table holds.

    Attributes:
        num_items: Items now.
        min_items: Items without which nothing is sampled.
    """

    num_items: int
    min_items: int


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

    Adders reach it at `address` like any other server; batches drawn in this process
    come from its memory, not over the network.
    """

    def __init__(
        self,
        tables: Sequence[reverb.Table],
        port: int | None = None,
        *,
        folder: str | pathlib.Path | None = None,
        wait_for_stop: core.WaitForStop | None = None,
    ) -> None:
        """Starts the server with what was saved in its folder, if anything was.

        A save that is damaged, or of other tables, is set aside with one sentence to
        the user, and the server starts empty. One that cannot be read now is tried
        again; see `saves.read_patiently`.

        Args:
            tables: Of `tables.make_tables`; not served by anybody else.
            port: Port to listen on. None: one that is free.
            folder: Where `save` writes; see `saves`. None: nowhere.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
                None: nobody asks.

        Raises:
            OSError: What was saved cannot be read now.
        """
        self._folder = None if folder is None else pathlib.Path(folder).absolute()
        self._lock = threading.Lock()
        if self._folder is None:
            self._server = make_server(tables, port)
        else:
            path = self._folder
            self._server = saves.read_patiently(
                lambda: _start_from_save(tables, port, path),
                path,
                wait_for_stop or threading.Event().wait,
            )
        self._client = reverb.Client(self.address)
        self._num_items = 0

    @property
    def address(self) -> str:
        """`localhost:<port>`."""
        return f"localhost:{self._server.port}"

    @property
    def num_items(self) -> int:
        """Items in all tables; as of the last answer where there is none now."""
        self.show_counts()
        return self._num_items

    def show_counts(self) -> None:
        """Shows in the pulse what it holds, and what has gone in and out."""
        # Not of the tables that were given: they stay empty where a save was loaded.
        try:
            tables = self._client.server_info(1).values()
        except (reverb.DeadlineExceededError, RuntimeError):
            return
        limiters = [table.rate_limiter_info for table in tables]
        self._num_items = sum(table.current_size for table in tables)
        pulse.current().show(
            replay_items=self._num_items,
            replay_capacity_items=sum(table.max_size for table in tables),
            inserted_items=sum(limiter.insert_stats.completed for limiter in limiters),
            sampled_items=sum(limiter.sample_stats.completed for limiter in limiters),
        )

    def save(self) -> None:
        """Writes what it holds to its folder, in place of the save before.

        Inserts and samples wait while Reverb notes what there is, about 3 s for a
        million items, and go on while it writes.

        Raises:
            ValueError: It has no folder.
            OSError: The disk took no more; the save before is still there.
        """
        if self._folder is None:
            raise ValueError("A replay without a folder cannot be saved.")
        saving = saves.saving(self._folder)
        with self._lock:
            try:
                written = pathlib.Path(self._client.checkpoint())
                num_items = restoring.count_items(written)
                saves.publish(written, self._folder, num_items)
            except (RuntimeError, tf.errors.OpError) as error:
                number = _errno_of(error) or errno.EIO
                raise OSError(number, str(error)) from error
            finally:
                shutil.rmtree(saving, ignore_errors=True)

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
    )


def _start_from_save(
    tables: Sequence[reverb.Table], port: int | None, folder: pathlib.Path
) -> reverb.Server:
    saves.tidy(folder)
    save = saves.newest(folder)
    saving, loading = saves.saving(folder), saves.loading(folder)
    if save is None:
        return make_server(tables, port, checkpoint_dir=str(saving))
    try:
        saves.check(save)
        num_dropped = restoring.prepare(save.path, tables, loading)
        server = reverb.Server(
            tables,
            port,
            reverb.checkpointers.DefaultCheckpointer(
                str(saving), fallback_checkpoint_path=str(loading)
            ),
        )
    except (RuntimeError, ValueError, tf.errors.OpError) as error:
        number = _errno_of(error)
        if number is not None:
            raise OSError(number, f"{save.path} cannot be read now: {error}") from error
        # First, since a port that is taken is an error like that of a bad save.
        server = make_server(tables, port, checkpoint_dir=str(saving))
        try:
            aside = saves.set_aside(save.path)
        except OSError:
            server.stop()
            raise
        pulse.current().say(
            f"{save.path} is skipped (kept as {aside.name}), and replay begins empty: "
            f"{error}"
        )
        return server
    finally:
        shutil.rmtree(loading, ignore_errors=True)
    if num_dropped:
        pulse.current().say(
            f"{num_dropped:,} transitions of {save.path} found no room in replay: the "
            "oldest ones."
        )
    return server


def _errno_of(error: Exception) -> int | None:
    """Finds out what the disk's trouble was, of which Reverb tells only the words.

    Returns:
        None where it was none of the disk's.
    """
    for number in _DISK_TROUBLES:
        if os.strerror(number).lower() in str(error).lower():
            return number
    return None
