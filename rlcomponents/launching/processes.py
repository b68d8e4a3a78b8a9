"""Nodes as child processes of the launcher (`local_mp`).

Two pipes join the launcher and a node. Over the status pipe the node says once a second
how it is, that its function has returned or failed, that it wants the program to end,
and what it wants on the screen. The control pipe
carries nothing: when its writing end closes, because the launcher wants the node to
stop or because the launcher is gone, the node's stop switch turns. Calls between nodes
play no part, so a node that serves nobody, or hangs, is seen and ended all the same.

Whatever a start needs is held by the launcher from the first on, so that a node can be
started again when the disk is full.
"""

import contextlib
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

import rlcomponents
from rlcomponents import pulse
from rlcomponents.launching import endings, watched
from rlcomponents.parameters import shared_memory

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "GRPC_VERBOSITY": "ERROR"}


class NodeProcess(watched.Node):
    """A node in a process of its own, at the head of its own process group."""

    def __init__(
        self,
        name: str,
        function: Callable[[], Any],
        log_path: pathlib.Path,
        wake: watched.Wake,
        environment: Mapping[str, str],
        namespaces: Sequence[int] = (),
    ) -> None:
        """Serialises the function; starts nothing.

        Args:
            name: `group/index`.
            function: The node's function.
            log_path: Takes the output of the processes, at its end.
            wake: Set when something happens to the process.
            environment: Variables that go before those of the launcher.
            namespaces: Open files of the network to enter; see `private_network`.

        Raises:
            ValueError: The function cannot be sent to another process.
        """
        super().__init__(name, log_path)
        try:
            self._function = cloudpickle.dumps(function)
        except Exception as error:
            raise ValueError(
                f"{name} cannot be sent to a process of its own ({error}): give it "
                "settings and factories, and let it build the rest."
            ) from error
        self._wake = wake
        self._environment = environment
        self._namespaces = namespaces
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: threading.Thread | None = None
        self._log: int | None = None

    @property
    def pid(self) -> int | None:
        """See `Node`."""
        return self._process.pid if self._process is not None else None

    def _start(self) -> None:
        # The calling thread has to outlive the process: the kernel watches the thread.
        self._process = None
        self._killed = self._interrupted = self._stop_requested = False
        self._unread = b""
        if self._log is None:  # Kept open: a restart needs no room on the disk.
            self._log = os.open(
                self.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            )
        with contextlib.ExitStack() as on_error, contextlib.ExitStack() as of_the_node:
            control_reader, self._control = os.pipe()
            of_the_node.callback(os.close, control_reader)
            on_error.callback(os.close, self._control)
            self._status, status_writer = os.pipe()
            of_the_node.callback(os.close, status_writer)
            on_error.callback(os.close, self._status)
            os.set_blocking(self._status, False)
            task = of_the_node.enter_context(open(os.memfd_create("task"), "w+b"))
            pickle.dump(sys.path, task)
            task.write(self._function)
            task.seek(0)
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "rlcomponents.launching.node_process"),
                    *(self.name, str(control_reader), str(status_writer)),
                    *map(str, (os.getpid(), self.starts, *self._namespaces)),
                ],
                stdin=task,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env=_make_environment(self._environment),
                pass_fds=(
                    *(control_reader, status_writer, *self._namespaces),
                    *shared_memory.kept_open(),
                ),
                start_new_session=True,  # Ctrl-C reaches the launcher only.
            )
            on_error.pop_all()
        self._wake.watch(self._status)
        self._watching = True
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        try:
            self._watcher.start()
        except RuntimeError:
            self._watcher = None
            self.kill()
            self._bury()
            raise

    def poll(self) -> None:
        """See `Node`."""
        if self.ended or self._process is None:
            return
        pid = self._process.pid  # Asked first: what it has written is then all.
        exited = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        self._read_status()
        if exited is not None:
            self._bury()

    def request_stop(self) -> None:
        """See `Node`."""
        if not self._stop_requested:
            self._stop_requested = True
            os.close(self._control)

    def interrupt(self) -> None:
        """See `Node`."""
        self._interrupted = True
        os.kill(self._started.pid, signal.SIGTERM)

    def kill(self) -> None:
        """See `Node`. Takes along what the node has started in its group."""
        self._killed = True
        os.killpg(self._started.pid, signal.SIGKILL)

    def close(self) -> None:
        """See `Node`."""
        if self._process is not None and not self.ended:
            self.kill()
            self._bury()
        if self._log is not None:
            os.close(self._log)
            self._log = None

    @property
    def _started(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def _watch(self) -> None:
        """Waits for the end of the process without burying it."""
        with contextlib.suppress(ChildProcessError):  # Buried already.
            os.waitid(os.P_PID, self._started.pid, os.WEXITED | os.WNOWAIT)
        self._wake.set()

    def _read_status(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._watching:
                received = os.read(self._status, 65_536)
                if not received:
                    self._wake.unwatch(self._status)
                    self._watching = False
                self._unread += received
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            try:
                report = json.loads(line)
            except json.JSONDecodeError:  # Cut short, such as by a signal.
                self.messages.append(f"a report of it was lost: {line[:80]!r}")
            else:
                self._take_report(report)

    def _take_report(self, report: dict[str, Any]) -> None:
        event = report.pop("event")
        if event == "pulse":
            self.signs.take(time.monotonic(), **report)
        elif event == "say":
            self.messages.append(report["line"])
        elif event == "disk":
            self.messages.append(pulse.DiskNews(**report))
        elif event == "stop":
            self.called_stop = True
        else:
            self.finished_secs = time.monotonic()
            if event == "failed":
                self.failure = endings.Failure(**report)

    def _bury(self) -> None:
        # The group's number is taken as long as its head is not waited for.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._started.pid, signal.SIGKILL)
        exit_code = self._started.wait()
        if self._watcher is not None:
            self._watcher.join()
        stop_requested = self._stop_requested
        self.request_stop()
        if self._watching:
            self._wake.unwatch(self._status)
        os.close(self._status)
        self.ended = True
        by_us = self._killed or (self._interrupted and exit_code == -signal.SIGTERM)
        was_to_stop = exit_code == 0 and stop_requested
        if self.finished_secs is None and not by_us and not was_to_stop:
            self.failure = _failure_of(exit_code)


def _make_environment(extra: Mapping[str, str]) -> dict[str, str]:
    environment = {**_QUIET, **os.environ, **extra}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Imports would triple in time.
    root = pathlib.Path(rlcomponents.__file__).parents[1]
    if root.name not in ("site-packages", "dist-packages"):
        paths = [str(root), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def _failure_of(exit_code: int) -> endings.Failure:
    """Describes the death of a process that left no report."""
    if exit_code >= 0:
        return endings.Failure(f"ended with exit code {exit_code}")
    names = {number.value: number.name for number in signal.Signals}
    cause = f"was ended by signal {names.get(-exit_code, -exit_code)}"
    if exit_code == -signal.SIGKILL:
        cause += " (the kernel sends it where memory runs out)"
    return endings.Failure(cause, by_signal=True)
