"""Tests of cutting links, in a real private network."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rlcomponents.launching import private_network
from rlcomponents.testing import links

HOST = "127.1.0.1"

# Listens at the host, and tries to reach it for each line that it is sent.
NODE = f"""
import socket, sys
from rlcomponents.launching import private_network
private_network.enter(list(map(int, sys.argv[1:])))
with socket.create_server(("{HOST}", 0)) as server:
    print("listens", flush=True)
    for _ in sys.stdin:
        try:
            socket.create_connection(server.getsockname(), 0.2).close()
            print("reached", flush=True)
        except OSError:
            print("not reached", flush=True)
"""


class Node:
    """A process in a private network."""

    def __init__(self, network: private_network.PrivateNetwork) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", NODE, *map(str, network.descriptors)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=network.descriptors,
            text=True,
        )
        assert self._answer() == "listens"

    def try_to_reach(self) -> str:
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node]]:
    try:
        network = private_network.PrivateNetwork.create()
    except private_network.UnavailableError as error:
        pytest.skip(f"Needs a private network: {error}.")
    with contextlib.closing(network):
        pair = Node(network), Node(network)
    yield pair
    for node in pair:
        node.process.kill()
        node.process.communicate()


def test_nothing_reaches_an_address_until_its_links_are_back(
    nodes: tuple[Node, Node],
) -> None:
    node, _ = nodes
    assert node.try_to_reach() == "reached"
    with links.cut(node.process.pid, HOST):
        assert node.try_to_reach() == "not reached"
    assert node.try_to_reach() == "reached"


def test_links_are_back_also_where_the_process_has_died_meanwhile(
    nodes: tuple[Node, Node],
) -> None:
    node, other = nodes
    with links.cut(node.process.pid, HOST):
        node.process.kill()
        node.process.wait()
        assert other.try_to_reach() == "not reached"
    assert other.try_to_reach() == "reached"


def test_links_of_the_machine_are_not_cut() -> None:
    with (
        pytest.raises(OSError, match="no private network"),
        links.cut(os.getpid(), HOST),
    ):
        pass
