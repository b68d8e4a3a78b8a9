"""Ports for the nodes of a program, which no other program takes meanwhile.

A port that is merely free when asked may be taken before the node binds it: a node
needs seconds to start, and meanwhile every outgoing connection of the machine takes a
port, too. So ports come from below the range of outgoing connections, and each is
reserved for the life of the program, also for a node that is started again, by
binding a Unix socket that bears its number. Such names live in the kernel, one set to
each network namespace, as ports do, and go with the process that holds them.
"""

import contextlib
import pathlib
import random
import socket
from collections.abc import Iterator

_FIRST_PORT = 10_000
_OUTGOING_RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


@contextlib.contextmanager
def reserve(num_ports: int) -> Iterator[list[int]]:
    """Reserves ports that are free now, among programs of this library.

    Args:
        num_ports: How many.

    Yields:
        The port numbers, all different.

    Raises:
        RuntimeError: There are not so many free ports.
    """
    first_outgoing = int(_OUTGOING_RANGE.read_text().split()[0])
    end = first_outgoing if first_outgoing > _FIRST_PORT + 1_000 else 65_536
    candidates = list(range(_FIRST_PORT, end))
    random.SystemRandom().shuffle(candidates)  # Leaves the user's generator alone.
    with contextlib.ExitStack() as reservations:
        ports: list[int] = []
        for port in candidates:
            if len(ports) == num_ports:
                break
            name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                name.bind(f"\0rlcomponents.port.{port}")
            except OSError:
                name.close()
                continue
            if _is_free(port):
                reservations.enter_context(name)
                ports.append(port)
            else:
                name.close()
        if len(ports) < num_ports:
            raise RuntimeError(
                f"{num_ports} ports are needed, and only {len(ports)} between "
                f"{_FIRST_PORT} and {end} are free: end other programs first."
            )
        yield ports


def _is_free(port: int) -> bool:
    families = [(socket.AF_INET, "0.0.0.0")]
    if socket.has_dualstack_ipv6():
        families.append((socket.AF_INET6, "::"))
    try:
        for family, host in families:
            socket.create_server((host, port), family=family).close()
    except OSError:
        return False
    return True
