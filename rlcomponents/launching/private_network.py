"""A network of their own for the nodes of a program on one machine (`local_mp`).

Launchpad's courier and Reverb listen on every interface, ask nobody for a password, and
courier unpickles what it is sent: who reaches a port can run code as the user. So the
nodes enter a network namespace that holds nothing but a loopback interface. It needs no
root: where the process may not make one, a user namespace is made around it, in which
the user is the same user and files stay theirs.

Namespaces are made, and tried, by a short-lived process of one thread (the kernel asks
for that), this file run as a script. It hands them over as open files; they last until
the launcher and all nodes have closed theirs, however those end.

Standard library only: a node enters before it imports anything that starts threads.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import pathlib
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

CHOICES = ("auto", "private", "open")
"""Private where possible, private or nothing, as any other process."""

_CLONE_NEWUSER = 0x1000_0000
_CLONE_NEWNET = 0x4000_0000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_CAPABILITY_VERSION_3 = 0x2008_0522
_MAX_SECS = 20.0
_MAX_REASON_BYTES = 4096
_SIGNS_OF_NO_NETWORK = (
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Name or service not known",
)


class UnavailableError(Exception):
    """This machine lets the process make no private network; says why."""


class PrivateNetwork:
    """Namespaces that processes can enter, as long as this object is open.

    Attributes:
        descriptors: Open files of the namespaces, in the order in which to enter them.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        """Takes over the open files."""
        self.descriptors = tuple(descriptors)

    @classmethod
    def create(cls) -> "PrivateNetwork":
        """Makes a network that has an interface for itself, and tries it.

        Raises:
            UnavailableError: The kernel, or what contains this process, forbids it.
        """
        ours, theirs = socket.socketpair()
        with ours:
            ours.settimeout(_MAX_SECS)
            with theirs:
                maker = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for the launcher.
                )
            try:
                return cls(_receive(ours))
            except OSError as error:
                raise UnavailableError(error.strerror or str(error)) from error
            finally:
                maker.kill()
                maker.wait()

    def close(self) -> None:
        """Lets go of it; processes that have entered it stay in it."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def enter(descriptors: Sequence[int]) -> None:
    """Moves this process, which must have one thread, and closes the files.

    It has the same user, groups and capabilities afterwards. In a user namespace those
    capabilities reach only as far as the user's own files.

    Args:
        descriptors: Of a `PrivateNetwork`, inherited. May be empty: it stays.

    Raises:
        OSError: The kernel refuses.
    """
    libc = _libc()
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    capabilities = ctypes.create_string_buffer(24)
    _check(libc.capget(header, capabilities), "capget")
    for descriptor in descriptors:
        _check(libc.setns(descriptor, 0), "setns")
        os.close(descriptor)
    # A user namespace gives all of them to whoever enters it.
    _check(libc.capset(header, capabilities), "capset")


def check(choice: str, launch_type: str) -> None:
    """Refuses what cannot be, before anything is started.

    Raises:
        ValueError: No such choice; or private, where the nodes are threads or the
            machine does not allow it.
    """
    if choice not in CHOICES:
        raise ValueError(
            f"--node_network={choice} is not supported: use auto, private or open."
        )
    if choice != "private":
        return
    if launch_type != "local_mp":
        raise ValueError(
            f"--node_network=private needs nodes in processes of their own, and with "
            f"{launch_type} they are threads: use local_mp, or --node_network=auto."
        )
    if (reason := why_unavailable()) is not None:
        raise ValueError(
            f"--node_network=private is not possible on this machine ({reason}): allow "
            "user namespaces, or use --node_network=open where the network is trusted."
        )


def why_unavailable() -> str | None:
    """Returns why no private network can be made here, None where one can."""
    try:
        PrivateNetwork.create().close()
    except UnavailableError as error:
        return str(error)
    return None


@contextlib.contextmanager
def chosen(
    choice: str, launch_type: str, ports: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Makes the network for the nodes of one program.

    Where it is to be private if possible and is not, stderr says so and names the
    ports, if there are any.

    Args:
        choice: One of `CHOICES`, which `check` has passed.
        launch_type: Of the launcher.
        ports: On which nodes of the program will listen.

    Yields:
        What each node has to `enter`.

    Raises:
        UnavailableError: It is to be private, and that has become impossible.
    """
    reason = f"with {launch_type}, the launcher itself serves them"
    if choice != "open" and launch_type == "local_mp":
        try:
            private = PrivateNetwork.create()
        except UnavailableError as error:
            if choice == "private":
                raise
            reason = str(error)
        else:
            with contextlib.closing(private):
                yield private.descriptors
            return
    if choice == "auto" and ports:
        print(_warning(ports, reason), file=sys.stderr, flush=True)
    yield ()


def hint(detail: str) -> str:
    """Returns what to say about a node that died for want of a network, or nothing.

    Args:
        detail: How it died, with the last lines of its traceback.
    """
    if not any(sign in detail for sign in _SIGNS_OF_NO_NETWORK):
        return ""
    return (
        "The nodes of this program have a private network, without a way out: "
        "--node_network=open gives them the machine's."
    )


def _warning(ports: Sequence[int], reason: str) -> str:
    names = ", ".join(map(str, sorted(ports)))
    return (
        f"Warning: port{'s' if len(ports) > 1 else ''} {names} of this program will be "
        "open, and anyone who can reach this machine can run code as you through "
        f"them: no private network here ({reason}). See docs/security.md; "
        "--node_network=open says that you know."
    )


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def _make_namespaces() -> list[int]:
    """Returns open files of new namespaces, which this process is then in."""
    libc = _libc()
    names = ["net"]
    if libc.unshare(_CLONE_NEWNET) != 0:
        if ctypes.get_errno() != errno.EPERM:
            _check(-1, "unshare")
        user, group = os.geteuid(), os.getegid()
        _check(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET), "user namespaces")
        names = ["user", "net"]
        # The kernel asks for the first, before a user may say who the group is.
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with _named_in_errors(name):
                pathlib.Path("/proc/self", name).write_text(text)
    with _named_in_errors("loopback"), socket.socket(type=socket.SOCK_DGRAM) as any_:
        request = struct.pack("16sh14x", b"lo", 0)  # struct ifreq
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_, _SIOCGIFFLAGS, request))[1]
        request = struct.pack("16sh14x", b"lo", flags | _IFF_UP)
        fcntl.ioctl(any_, _SIOCSIFFLAGS, request)
    return [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in names]


@contextlib.contextmanager
def _named_in_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{what}: {error.strerror}") from error


def _make_and_try() -> list[int]:
    """Makes namespaces in a child, and enters them as a node would."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _send(theirs, _make_namespaces)
        os._exit(0)
    theirs.close()
    try:
        descriptors = _receive(ours)
    finally:
        os.waitpid(child, 0)
    enter([os.dup(descriptor) for descriptor in descriptors])
    with (
        _named_in_errors("loopback"),
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        socket.create_connection(server.getsockname(), _MAX_SECS).close()
    return descriptors


def _send(connection: socket.socket, make: Callable[[], list[int]]) -> None:
    """Sends the open files that were made, or why there are none."""
    try:
        descriptors = make()
    except OSError as error:
        connection.sendall(str(error.strerror or error).encode())
    else:
        socket.send_fds(connection, [b"\0"], descriptors)


def _receive(connection: socket.socket) -> list[int]:
    """Returns what `_send` has sent.

    Raises:
        OSError: There is none; says why.
    """
    message, descriptors, _, _ = socket.recv_fds(connection, _MAX_REASON_BYTES, 2)
    if descriptors:
        return descriptors
    raise OSError(0, message.decode() or "the process that makes it was ended")


if __name__ == "__main__":
    with socket.socket(fileno=sys.stdin.fileno()) as launcher:
        _send(launcher, _make_and_try)
