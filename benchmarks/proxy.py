"""Counts the bytes that cross between a server and its clients."""

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def counting(address: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Passes on what is sent to an address of its own, and counts it.

    Args:
        address: `host:port` of the server.

    Yields:
        The address for the clients, and bytes so far: `to_server` and `to_client`.
    """
    counts = {"to_server": 0, "to_client": 0}
    host, port = address.split(":")
    listener = socket.create_server(("localhost", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):  # The listener is closed at the end.
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((host, int(port)))
                for ends in (
                    (client, server, "to_server"),
                    (server, client, "to_client"),
                ):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    def carry(source: socket.socket, sink: socket.socket, way: str) -> None:
        with contextlib.suppress(OSError):  # One end hangs up; so does the other.
            while chunk := source.recv(1 << 16):
                counts[way] += len(chunk)
                sink.sendall(chunk)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"localhost:{listener.getsockname()[1]}", counts
    finally:
        listener.close()
