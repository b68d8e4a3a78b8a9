"""Runs a Launchpad program: the one entry, whatever the nodes run in.

Launchpad gives the graph, the handles, the addresses and the node functions. Here the
addresses are bound and the functions run, each in a supervised process or thread.
Launchpad's own local launchers do not notice a node that dies, end with exit code 0
whatever happened, and leave their nodes running when they are killed.
"""

import contextlib
import ipaddress
import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import launchpad as lp

from rlcomponents.launching import (
    choices,
    ending_signals,
    endings,
    graph,
    launchpad_runtime,
    node_rows,
    open_files,
    placement,
    ports,
    private_network,
    processes,
    screen,
    supervision,
    threads,
    watched,
)
from rlcomponents.runs import run_folder

_FIRST_HOST = ipaddress.IPv4Address("127.1.0.1")  # All of 127.0.0.0/8 is loopback.


def launch(
    program: lp.Program,
    run_dir: str | os.PathLike[str],
    *,
    launch_type: str = "local_mp",
    on_failure: str | None = None,
    hang_timeout_secs: float | None = None,
    on_tick: Callable[[], None] | None = None,
    on_end: Callable[[], None] | None = None,
    on_message: Callable[[str], None] | None = None,
    termination_notice_secs: float = 10.0,
    environment: Mapping[str, Mapping[str, str]] | None = None,
    network: str = "auto",
) -> endings.Ending:
    """Runs a program to its end, and leaves nothing of it running.

    The program ends when all nodes have returned, when a node calls `lp.stop()` (which
    returns, in the node's main thread, when the node is to stop), when a node dies that
    is not to be started again, at Ctrl-C (a second one forces), SIGTERM or SIGHUP.
    Signals are heeded where this is called from the main thread, and their handlers are
    put back. If the launcher itself is killed, the kernel kills the node processes.

    Each node's output goes to `run_dir/logs/<group>-<index>.log`, at its end; with
    `local_mt`, that of threads which nodes start, and of C++ code, goes to
    `logs/other-threads.log`.
    Where a node has died or had to be killed, the last lines on stderr say so.

    Args:
        program: What to run. A program can be launched again once it has ended.
        run_dir: Folder of the run; made where it is missing.
        launch_type: "local_mp" for processes or "local_mt" for threads.
        on_failure: "restart": a node that dies is started again, at the same addresses,
            its peers undisturbed; only when it dies three times in a row without
            completing a step (see `rlcomponents.pulse`) does the program end. "stop":
            the first death ends it. None: "restart" for processes, "stop" for threads,
            of which none can be started again.
        hang_timeout_secs: A node that has shown no sign of life for so long, or that
            has worked on one step for so long, hangs: it is killed, and has died. None:
            it is only named on the screen. Nodes that never note a step are given a
            minute more, and only their silence counts.
        on_tick: Called about once a second in the calling thread. If it raises, the
            nodes are stopped and the exception goes on to the caller; but an OSError
            other than BrokenPipeError, as on a full disk, only costs this call.
        on_end: Called once no node runs, before the last lines about a failure are
            printed: for what else has to be on the screen. Errors as of `on_tick`.
        on_message: Shows one line at once, in the calling thread: a node that died and
            is started again, or what a node has to say. None: stderr.
        termination_notice_secs: From the end of the program to the end of its nodes by
            force. Nodes are asked to stop when those that call them have ended, at the
            latest halfway; `supervision.SAVING_ROLES` after the others. They have
            SystemExit raised in their main threads when half of what is then left has
            passed.
        environment: Variables for the node processes, by group; they go before those
            that `placement.variables` gives by default: one compute thread for each
            node, and GPUs for `placement.LEARNING_ROLES` only.
        network: "private": node processes share a network that nothing else reaches,
            and reach no other. "open": they have the machine's. "auto": private where
            they are processes and the kernel allows it, else open, with a warning on
            stderr that names the ports. See `private_network`.

    Returns:
        Why the program ended; `exit_code` is for `sys.exit`, or see `exit_process`.

    Raises:
        ValueError: Bad arguments, or a node that cannot be sent to a process.
    """
    choices.check_launch_type(launch_type)
    choices.check_on_failure(on_failure, launch_type)
    choices.check_hang_timeout(hang_timeout_secs)
    private_network.check(network, launch_type)
    _check(program, termination_notice_secs, environment or {}, launch_type)
    open_files.check(program)
    log_dir = pathlib.Path(run_dir) / "logs"
    log_dir.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        reserved = _reserve_ports(program, stack)
        namespaces = stack.enter_context(
            private_network.chosen(network, launch_type, reserved)
        )
        hosts = _bind_addresses(program, reserved, has_own_hosts=bool(namespaces))
        wake = watched.Wake()
        stack.callback(wake.close)
        nodes: list[watched.Node] = []
        shown_on = screen.Screen(on_tick, on_message)
        folder = run_folder.RunFolder(pathlib.Path(run_dir))
        calls = graph.calls(program)
        table = node_rows.NodeRows(folder.nodes_json, nodes, hosts, calls=calls)
        supervisor = supervision.Supervisor(
            nodes,
            wake,
            calls=calls,
            notice_secs=termination_notice_secs,
            hang_timeout_secs=hang_timeout_secs,
            restart_nodes=launch_type == "local_mp" and on_failure != "stop",
            shown_on=shown_on,
            write_down=table.write,
        )
        if launch_type == "local_mp":
            nodes += _make_processes(
                program, log_dir, wake, environment or {}, namespaces
            )
        else:
            nodes += _make_threads(program, log_dir, wake, supervisor, stack)
        stack.enter_context(ending_signals.sent_to(supervisor.receive_signal))
        for node in nodes:
            stack.callback(node.close)
        ending = supervisor.run()
    with screen.failures_ignored():
        if on_end is not None:
            on_end()
    with screen.failures_ignored():
        if ending.detail:
            print(ending.detail, file=sys.stderr, flush=True)
            if namespaces and (hint := private_network.hint(ending.detail)):
                print(hint, file=sys.stderr, flush=True)
    return ending


def exit_process(exit_code: int) -> NoReturn:
    """Ends this process now, with this code, whatever threads are left.

    For scripts, after `local_mt`: threads left behind by nodes, and the destructors of
    servers, can keep a process from ending or change its exit code.
    """
    with contextlib.suppress(OSError):  # Nobody reads it any more, or a full disk.
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(exit_code)


def _check(
    program: lp.Program,
    termination_notice_secs: float,
    environment: Mapping[str, Mapping[str, str]],
    launch_type: str,
) -> None:
    if not program.get_all_nodes():
        raise ValueError(f"The program {program.name!r} has no nodes: add some.")
    if termination_notice_secs < 0:
        raise ValueError(
            f"termination_notice_secs is {termination_notice_secs}: give 0 (nodes are "
            "killed at once) or more."
        )
    if environment and launch_type != "local_mp":
        raise ValueError(
            f"environment is given with launch_type={launch_type}, where all nodes "
            "share one process: leave it out, or use local_mp."
        )
    unknown = sorted(set(environment) - set(program.groups))
    if unknown:
        raise ValueError(
            f"environment names unknown groups {unknown}: the program has "
            f"{sorted(program.groups)}."
        )
    for name, node in graph.named_nodes(program):
        if isinstance(node, lp.MultiThreadingColocation) or not isinstance(
            node, lp.PyNode
        ):
            raise ValueError(
                f"{name} is a {type(node).__name__}, which is not supported: give each "
                "node its own place, or build what belongs together in one node."
            )


def _log_path(log_dir: pathlib.Path, name: str) -> pathlib.Path:
    return log_dir / f"{name.replace('/', '-')}.log"


class _FixedAddress(lp.AbstractAddressBuilder):
    def __init__(self, address: str) -> None:
        self._address = address

    def build(self) -> str:
        return self._address


def _reserve_ports(program: lp.Program, stack: contextlib.ExitStack) -> list[int]:
    """Returns a port for each address, reserved until the stack closes."""
    num_ports = sum(len(node.addresses) for node in program.get_all_nodes())
    return stack.enter_context(ports.reserve(num_ports))


def _bind_addresses(
    program: lp.Program, reserved: Sequence[int], *, has_own_hosts: bool
) -> dict[str, str]:
    """Gives each address a port, and each node that serves an own host, if it may.

    In a private network each has one, so that links can be cut node by node; see
    `rlcomponents.testing.faults`.

    Returns:
        The nodes' own hosts.
    """
    hosts: dict[str, str] = {}
    remaining_ports = iter(reserved)
    for name, node in graph.named_nodes(program):
        for handle in node.input_handles:
            handle.connect(node, graph.group_of(name))
        if has_own_hosts and node.addresses:
            hosts[name] = str(_FIRST_HOST + len(hosts))
        for address in node.addresses:
            host, port = hosts.get(name, "localhost"), next(remaining_ports)
            address.bind(_FixedAddress(f"{host}:{port}"))
    return hosts


def _make_processes(
    program: lp.Program,
    log_dir: pathlib.Path,
    wake: watched.Wake,
    environment: Mapping[str, Mapping[str, str]],
    namespaces: Sequence[int],
) -> list[watched.Node]:
    defaults = placement.variables(program.groups)
    nodes: list[watched.Node] = []
    for name, node in graph.named_nodes(program):
        node.launch_context.initialize(
            lp.LaunchType.LOCAL_MULTI_PROCESSING, None, launchpad_runtime.stop_program
        )
        group = graph.group_of(name)
        extra = {**defaults[group], **environment.get(group, {})}
        path = _log_path(log_dir, name)
        nodes.append(
            processes.NodeProcess(name, node.function, path, wake, extra, namespaces)
        )
    return nodes


def _make_threads(
    program: lp.Program,
    log_dir: pathlib.Path,
    wake: watched.Wake,
    supervisor: supervision.Supervisor,
    stack: contextlib.ExitStack,
) -> list[watched.Node]:
    stack.enter_context(threads.cores_shared(len(program.get_all_nodes())))
    switch = launchpad_runtime.StopSwitch()
    stack.callback(launchpad_runtime.install(switch, supervisor.stop))
    path = log_dir / "other-threads.log"
    file = stack.enter_context(path.open("a", buffering=1, encoding="utf-8"))
    stack.enter_context(threads.native_stderr_sent_to(file))
    output = threads.Output(file)
    stack.enter_context(output.parted())
    nodes: list[watched.Node] = []
    for name, node in graph.named_nodes(program):
        thread = threads.NodeThread(
            name, node.function, _log_path(log_dir, name), wake, switch, output
        )
        node.launch_context.initialize(
            lp.LaunchType.LOCAL_MULTI_THREADING, None, thread.stop_program
        )
        nodes.append(thread)
    return nodes
