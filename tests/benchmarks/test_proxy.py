"""Tests of benchmarks.proxy."""

import socket
import threading

import proxy
import pytest


@pytest.fixture
def tripling():
    """Gives the address of a server that answers three bytes for each it is sent."""
    listener = socket.create_server(("localhost", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            while received := connection.recv(1_000):
                connection.sendall(3 * received)

    threading.Thread(target=serve, daemon=True).start()
    yield f"localhost:{listener.getsockname()[1]}"
    listener.close()


def test_bytes_are_passed_on_and_counted_each_way(tripling):
    with proxy.counting(tripling) as (address, counts):
        host, port = address.split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"ab")
            assert client.recv(6, socket.MSG_WAITALL) == b"ababab"
        assert counts == {"to_server": 2, "to_client": 6}
