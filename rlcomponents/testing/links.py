"""Cuts the links to one address inside the private network of a running program.

Standard library only; the kernel is asked over netlink, from inside that network.
"""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator

from rlcomponents.testing import namespaces

# Of <linux/rtnetlink.h> and <linux/netlink.h>.
_NEW_ROUTE, _DELETE_ROUTE = 24, 25
_REQUEST_AND_ACKNOWLEDGE, _CREATE = 0x5, 0x600
_LOCAL_TABLE, _BOOT_PROTOCOL, _BLACKHOLE, _DESTINATION = 255, 4, 6, 1


@contextlib.contextmanager
def cut(pid: int, host: str) -> Iterator[None]:
    """Lets nothing reach an address inside the block, whoever dies meanwhile.

    Args:
        pid: A process in the network.
        host: The address.

    Raises:
        OSError: The process is in no private network, or the kernel refuses.
    """
    with contextlib.ExitStack() as opened:
        entered = []
        for path in _namespaces_of(pid):
            entered.append(os.open(path, os.O_RDONLY))
            opened.callback(os.close, entered[-1])

        def change(message_type: int) -> None:
            namespaces.call_in(
                entered, lambda: _change_route(message_type, host), f"route to {host}"
            )

        change(_NEW_ROUTE)
        try:
            yield
        finally:
            change(_DELETE_ROUTE)


def _namespaces_of(pid: int) -> list[str]:
    """Returns those that this process is not in, in the order in which to enter."""
    paths = []
    for name in ("user", "net"):
        path = f"/proc/{pid}/ns/{name}"
        if os.stat(path).st_ino != os.stat(f"/proc/self/ns/{name}").st_ino:
            paths.append(path)
        elif name == "net":  # Never the machine's own network.
            raise OSError(errno.EPERM, "The node has no private network")
    return paths


def _change_route(message_type: int, host: str) -> None:
    """Adds or removes a route that swallows all that goes to an address."""
    flags = _REQUEST_AND_ACKNOWLEDGE
    if message_type == _NEW_ROUTE:
        flags |= _CREATE
    route = struct.pack(  # struct rtmsg, and one attribute.
        "BBBBBBBBIHH4s",
        *(socket.AF_INET, 32, 0, 0, _LOCAL_TABLE, _BOOT_PROTOCOL, 0, _BLACKHOLE, 0),
        *(8, _DESTINATION, socket.inet_aton(host)),
    )
    header = struct.pack("IHHII", 16 + len(route), message_type, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        kernel.send(header + route)
        answer = kernel.recv(4096)
    number = -int(struct.unpack_from("i", answer, 16)[0])
    if number:
        raise OSError(number, os.strerror(number))
