"""Who reaches the ports of a program. Skipped where the kernel forbids to hide them.

Run by root, no user namespace is needed: one test runs the others again without rights.
"""

import contextlib
import ctypes
import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

import cloudpickle
import launchpad as lp
import pytest

from rlcomponents.launching import choices, launcher, private_network
from rlcomponents.parameters import shared_memory

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROOT = pathlib.Path(private_network.__file__).parents[2]
# What root keeps may be mapped into a user namespace, and that is all.
WITHOUT_RIGHTS = [
    *("setpriv", "--securebits=+noroot,+noroot_locked", "--bounding-set=-all,+setfcap"),
    *("--inh-caps=-all,+setfcap", "--ambient-caps=-all,+setfcap"),
]


@pytest.fixture
def network():
    if subprocess.run(["unshare", "-Urn", "true"], check=False).returncode != 0:
        pytest.skip("the kernel, or a container, forbids namespaces")
    with contextlib.closing(private_network.PrivateNetwork.create()) as made:
        yield made


@contextlib.contextmanager
def python_in(network, code, *args):
    """Runs code in a process that has entered the network."""
    inside = f"""
import json, os, socket, sys
from rlcomponents.launching import private_network
private_network.enter({network.descriptors})
{code}
"""
    with subprocess.Popen(
        [sys.executable, "-c", inside, *args],
        cwd=ROOT,
        pass_fds=network.descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def output_in(network, code, *args):
    with python_in(network, code, *args) as process:
        return json.loads(process.communicate()[0])


def accepts(port):
    """Whether this process reaches the port of this host."""
    try:
        socket.create_connection(("localhost", port), timeout=20).close()
    except ConnectionRefusedError:
        return False
    return True


LISTEN = """
server = socket.create_server(("", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""
CONNECT = """
print(json.dumps(socket.create_connection(("localhost", int(sys.argv[1])))
                 .getpeername()[1]))
"""


def test_processes_in_it_reach_each_other_and_nobody_else_reaches_them(network):
    with python_in(network, LISTEN) as process:
        port = int(process.stdout.readline())
        assert output_in(network, CONNECT, str(port)) == port
        assert not accepts(port)


def test_its_only_interface_is_the_loopback(network):
    code = "print(json.dumps(socket.if_nameindex()))"
    assert output_in(network, code) == [[1, "lo"]]


def capabilities():
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    return [line for line in status if line.startswith(("CapPrm", "CapEff"))]


def test_who_enters_stays_who_they_are(network, tmp_path):
    code = """
open(sys.argv[1], "w").close()
lines = [x for x in open("/proc/self/status").read().splitlines()
         if x.startswith(("CapPrm", "CapEff"))]
print(json.dumps([os.getuid(), os.getgid(), lines]))
"""
    path = tmp_path / "written"
    found = output_in(network, code, str(path))
    assert found == [os.getuid(), os.getgid(), capabilities()]
    assert (path.stat().st_uid, path.stat().st_gid) == (os.geteuid(), os.getegid())


def test_entering_nothing_changes_nothing():
    before = os.readlink("/proc/thread-self/ns/net"), capabilities()
    private_network.enter([])
    assert (os.readlink("/proc/thread-self/ns/net"), capabilities()) == before


@pytest.mark.integration
def test_the_same_holds_for_a_user_without_rights():
    if os.geteuid() != 0:
        pytest.skip("every other test has shown it")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is missing")
    command = [*WITHOUT_RIGHTS, sys.executable, "-m", "pytest", "-q", "-m", ""]
    done = subprocess.run(
        [
            *command,
            __file__,
            "-k",
            "not without_rights and not open and not auto",
            "-p",
            "no:cacheprovider",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# ---------------------------------------------------------------- where it is forbidden

FORBIDDEN = private_network.UnavailableError("user namespaces: Operation not permitted")


@pytest.fixture
def forbidden(monkeypatch):
    def create():
        raise FORBIDDEN

    monkeypatch.setattr(private_network.PrivateNetwork, "create", create)


def forbid_unshare():
    """Lets the kernel refuse `unshare` to this process, as containers have it."""
    load, jump_if_equal, give = 0x20, 0x15, 0x06  # BPF_LD, BPF_JMP | BPF_JEQ, BPF_RET
    unshare, allow, refuse = 272, 0x7FFF_0000, 0x0005_0000 | errno.EPERM
    program = b"".join(
        struct.pack("HBBI", *line)
        for line in (
            (load, 0, 0, 0),  # The number of the call.
            (jump_if_equal, 0, 1, unshare),
            (give, 0, 0, refuse),
            (give, 0, 0, allow),
        )
    )
    code = ctypes.create_string_buffer(program)
    filters = struct.pack("H6xP", 4, ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, filters) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def test_a_container_that_forbids_namespaces_is_named():
    code = """
from rlcomponents.launching import private_network
try:
    private_network.PrivateNetwork.create()
except private_network.UnavailableError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        preexec_fn=forbid_unshare,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "user namespaces: Operation not permitted\n"


def test_auto_warns_of_the_ports_that_are_open(forbidden, capsys):
    with private_network.chosen("auto", "local_mp", [10_700, 10_300]) as descriptors:
        assert descriptors == ()
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: ports 10300, 10700 of this program will be open, ")
    assert "run code as you" in line
    assert "(user namespaces: Operation not permitted)" in line


def test_auto_warns_of_the_ports_of_nodes_in_threads(capsys):
    with private_network.chosen("auto", "local_mt", [10_300]) as descriptors:
        assert descriptors == ()
    assert "port 10300 of this program will be open" in capsys.readouterr().err


def test_auto_does_not_warn_where_there_are_no_ports(forbidden, capsys):
    for launch_type in choices.LAUNCH_TYPES:
        with private_network.chosen("auto", launch_type, []):
            pass
    assert capsys.readouterr().err == ""


def test_who_asks_for_an_open_network_gets_it_without_a_word(capsys):
    with private_network.chosen("open", "local_mp", [10_300]) as descriptors:
        assert descriptors == ()
    assert capsys.readouterr().err == ""


def test_private_is_refused_where_it_is_forbidden(forbidden):
    with pytest.raises(ValueError, match=r"possible on this machine \(user namespaces"):
        private_network.check("private", "local_mp")


def test_private_is_refused_for_threads():
    with pytest.raises(ValueError, match="with local_mt they are threads"):
        private_network.check("private", "local_mt")


def test_another_choice_is_refused():
    with pytest.raises(ValueError, match="use auto, private or open"):
        private_network.check("closed", "local_mp")


@pytest.mark.parametrize(
    ("detail", "says_so"),
    [
        ("OSError: [Errno 101] Network is unreachable", True),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", True),
        ("ZeroDivisionError: of the game", False),
    ],
)
def test_a_node_that_died_for_want_of_a_network_gets_a_hint(detail, says_so):
    assert ("--node_network=open" in private_network.hint(detail)) == says_so


# ---------------------------------------------------------------- whole programs


class _Server:
    def owner(self):
        return os.getuid()


def _call(server, run_dir):
    """Calls its peer, says where it is, and ends the program when told to."""
    assert server.owner() == os.getuid()
    (run_dir / "written").touch()
    with (run_dir / "told").open("w") as told:
        print(os.readlink("/proc/self/ns/net"), file=told)
    (run_dir / "end").read_text()  # A pipe: waits for its writer.
    lp.stop()


def _build(run_dir):
    program = lp.Program("served")
    server = program.add_node(lp.CourierNode(_Server), label="server")
    program.add_node(lp.PyNode(_call, server, run_dir), label="caller")
    return program


def _make_pipes(run_dir):
    run_dir.mkdir()
    for name in ("told", "end"):
        os.mkfifo(run_dir / name)


def _who_holds(namespace):
    """Returns the entries in /proc of all that keeps a namespace."""
    found = []
    for pattern in ("[0-9]*/ns/net", "[0-9]*/fd/*"):
        for entry in pathlib.Path("/proc").glob(pattern):
            with contextlib.suppress(OSError):
                if os.readlink(entry) == namespace:
                    found.append(entry)
    return found


@pytest.mark.integration
@pytest.mark.parametrize("choice", ["private", "auto", "open"])
def test_only_nodes_reach_a_port_of_a_program(choice, network, tmp_path, capsys):
    run_dir = tmp_path / "run"
    _make_pipes(run_dir)
    program = _build(run_dir)
    endings = []
    thread = threading.Thread(
        target=lambda: endings.append(launcher.launch(program, run_dir, network=choice))
    )
    thread.start()
    namespace = (run_dir / "told").read_text().strip()
    [address] = program.groups["server"][0].addresses
    reached = accepts(int(address.resolve().rpartition(":")[2]))
    (run_dir / "end").write_text("")
    thread.join()
    assert [(each.exit_code, each.reason) for each in endings] == [(0, "stopped")]
    assert capsys.readouterr().err == ""
    assert (run_dir / "written").stat().st_uid == os.geteuid()
    assert (run_dir / "logs" / "server-0.log").stat().st_uid == os.geteuid()
    own = os.readlink("/proc/self/ns/net")
    if choice == "open":
        assert reached
        assert namespace == own
    else:
        assert not reached
        assert namespace != own
        assert _who_holds(namespace) == []


@pytest.mark.integration
def test_nothing_of_it_is_left_when_the_launcher_is_killed(
    network, tmp_path, wait_until_gone
):
    run_dir = tmp_path / "run"
    _make_pipes(run_dir)
    code = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("tests_of_it", sys.argv[1])
module = sys.modules["tests_of_it"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
run_dir = pathlib.Path(sys.argv[2])
module.launcher.launch(module._build(run_dir), run_dir, network="private")
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, __file__, run_dir], cwd=ROOT
    ) as process:
        namespace = (run_dir / "told").read_text().strip()
        pids = {int(entry.parts[2]) for entry in _who_holds(namespace)}
        assert len(pids) == 3  # The launcher keeps it for nodes that start again.
        process.send_signal(signal.SIGKILL)
    wait_until_gone(pids)
    assert _who_holds(namespace) == []


def _grow(memory):
    opened = memory.open()
    opened.grow(4096)
    opened.map(0, 4096)[7] = 42
    lp.stop()


def _wait(memory):
    opened = memory.open()
    lp.stop_event().wait()
    print("found", opened.map(0, 4096)[7])


@pytest.mark.integration
def test_nodes_share_the_memory_that_the_launcher_has_made(network, tmp_path):
    memory = shared_memory.SharedMemory.create()
    program = lp.Program("shared")
    program.add_node(lp.PyNode(_wait, memory), label="waits")
    program.add_node(lp.PyNode(_grow, memory), label="grows")
    ending = launcher.launch(program, tmp_path, network="private")
    assert (ending.exit_code, ending.reason) == (0, "stopped")
    assert "found 42" in (tmp_path / "logs" / "waits-0.log").read_text()
