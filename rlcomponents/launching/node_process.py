"""What a node's process does: `python -m rlcomponents.launching.node_process`.

Started by `processes.NodeProcess` only, which says in its docstring what the pipes are
for. The node's function comes pickled on standard input; output goes to the log file.

A node that is sent SIGTERM, as some schedulers do to each process of a job, stops as if
the launcher had asked, and then dies of the signal unless the launcher did ask. A
second SIGTERM, such as the launcher's own, interrupts what it is doing.
"""

import atexit
import faulthandler
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Sequence
from typing import NoReturn

from rlcomponents import pulse
from rlcomponents.launching import node_reports, parent_death, private_network

_MAX_TRACEBACK_LINES = 40
_MAX_LINE_CHARACTERS = 500


def main(arguments: Sequence[str]) -> int:
    """Runs one node to its end.

    Args:
        arguments: The node's name, the descriptors of the control pipe (reading end)
            and of the status pipe (writing end), the launcher's process id, how often
            the node was started before, and the descriptors of the network to enter,
            if any.

    Returns:
        The exit code of the process.
    """
    name = arguments[0]
    control, status, launcher_pid, starts, *namespaces = map(int, arguments[1:])
    private_network.enter(namespaces)
    parent_death.die_with(launcher_pid, signal.SIGKILL)
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    reports = node_reports.Reports(status)
    log = node_reports.Log(sys.stdout.fileno(), reports.send_of_disk)
    sys.stdout = node_reports.text_stream(log)
    sys.stderr = node_reports.text_stream(log)
    faulthandler.enable()
    print(f"{time.strftime('%F %T')} {name} starts as process {os.getpid()}")
    life = pulse.Pulse(starts=starts, say=reports.say, say_of_disk=reports.say_of_disk)
    life.is_starting = True  # Until its function is called.
    pulse.use_in_this_process(life)
    reports.send_pulses(life, log)
    try:
        _run(control, reports)
    except SystemExit as error:
        if error.code not in (None, 0):
            reports.send_pulse(life)
            cause = f"ended with exit code {error.code}"
            reports.send("failed", cause=cause, traceback=_last_lines(error))
            raise
    except BaseException as error:
        traceback.print_exc()
        message = str(error).partition("\n")[0]
        cause = f"failed with exit code 1: {type(error).__name__}: {message}"
        reports.send_pulse(life)
        reports.send(
            "failed",
            cause=cause,
            traceback=_last_lines(error),
            is_fatal=isinstance(error, pulse.FatalError),
        )
        return 1
    reports.send("returned")
    return 0


def _run(control: int, reports: node_reports.Reports) -> None:
    with open(sys.stdin.fileno(), "rb", closefd=False) as task:
        sys.path[:] = pickle.load(task)
        # Only now can the modules be found that the launcher finds.
        from rlcomponents.launching import launchpad_runtime

        switch = launchpad_runtime.StopSwitch()

        def stop_program() -> None:
            reports.send("stop")
            # Waits for the launcher's answer, so that what the node does next, such as
            # to take its server away from its peers, happens in a program that is
            # stopping. Other threads may be serving the peers that must end first.
            if threading.current_thread() is threading.main_thread():
                switch.wait_for_stop()

        terminated_reader, terminated = os.pipe()

        def listen() -> None:
            # On the control pipe nothing ever comes: it ends when the launcher asks.
            _poll([control, terminated_reader])
            switch.turn()

        def on_terminate(number: int, frame: types.FrameType | None) -> None:
            if switch.stop_event().is_set():
                raise SystemExit
            os.write(terminated, b"\0")  # Locks are not for signal handlers.

        launchpad_runtime.install(switch, stop_program)
        signal.signal(signal.SIGTERM, on_terminate)
        threading.Thread(target=listen, daemon=True).start()
        function = pickle.load(task)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    pulse.current().is_starting = False
    launchpad_runtime.call(function, switch)
    if switch.stop_event().is_set() and not _poll([control], timeout_secs=0.0):
        # It was not the launcher that asked: dies of what it was sent.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _poll(descriptors: Sequence[int], *, timeout_secs: float | None = None) -> bool:
    """Waits until one of the pipes has something, or has ended; whether one has."""
    poll = select.poll()  # `select.select` takes no numbers from 1024 on.
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout_secs is None else 1000 * timeout_secs))


def _last_lines(error: BaseException) -> list[str]:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return [line[:_MAX_LINE_CHARACTERS] for line in lines[-_MAX_TRACEBACK_LINES:]]


def _end(exit_code: int) -> NoReturn:
    """Ends the process, but does not take the interpreter apart.

    With TensorFlow in it that is most of a second of a core, for nothing.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    _end(main(sys.argv[1:]))
