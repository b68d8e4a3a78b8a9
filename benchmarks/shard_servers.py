"""Parameter shards in processes of their own, each beside a server of raw bytes."""

import contextlib
import multiprocessing
from collections.abc import Iterator, Sequence

import courier
import portpicker
from launchpad.nodes.courier import courier_utils

from rlcomponents import schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import shard, update_rules


class Echo:
    """Moves bytes and does nothing with them: the baseline of a shard."""

    def __init__(self, size_bytes: int) -> None:
        """Stores how many bytes `get` returns."""
        self._size_bytes = size_bytes
        self._vector: bytes | None = None

    def get(self) -> bytes:
        """Returns as many bytes as a pull, always the same."""
        if self._vector is None:
            self._vector = bytes(self._size_bytes)
        return self._vector

    def put(self, vector: bytes) -> int:
        """Takes as many bytes as a push."""
        return len(vector)


@contextlib.contextmanager
def served(
    cuts: Sequence[tuple[layouts.ParameterLayout, int]],
) -> Iterator[list[list[courier.Client]]]:
    """Serves the shards of every cut; gives each cut's clients.

    All shards of one cut are in different processes; shards of different cuts, which
    are never called together, share them. A server has a shard's methods and an
    `Echo`'s.

    Args:
        cuts: Layouts, and into how many shards each is cut.
    """
    size_bytes: list[list[int]] = [[] for _ in range(max(k for _, k in cuts))]
    ports: list[list[int]] = [[] for _ in size_bytes]
    clients: list[list[courier.Client]] = []
    for layout, num_shards in cuts:
        clients.append([])
        for index, part in enumerate(layout.shard_slices(num_shards)):
            size_bytes[index].append(4 * (part.stop - part.start))
            ports[index].append(portpicker.pick_unused_port())
            address = f"localhost:{ports[index][-1]}"
            clients[-1].append(
                courier.Client(address, call_timeout=120, wait_for_ready=False)
            )
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_serve, args=args, daemon=True)
        for args in zip(size_bytes, ports, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        yield clients
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _serve(size_bytes: Sequence[int], ports: Sequence[int]) -> None:
    """Serves a shard and an `Echo` for each size, until the process is ended."""
    servers = []
    for size, port in zip(size_bytes, ports, strict=True):
        made = shard.ParameterShard(
            update_rules.AdaGrad(),
            schedules.Constant(1e-3),
            max_staleness_updates=None,
            target_period_updates=None,
        )
        echo = Echo(size)
        server = courier_utils.make_courier_server(made, port=port)
        server.Bind("get", echo.get)
        server.Bind("put", echo.put)
        server.Start()
        servers.append(server)
    servers[0].Join()
