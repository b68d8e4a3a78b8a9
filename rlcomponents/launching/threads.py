"""Nodes as threads of the launcher's process (`local_mt`).

One interpreter, one TensorFlow, one start: good for small machines and for debugging.
A thread cannot be killed: a node that ignores the request to stop is left behind.
"""

import contextlib
import ctypes
import os
import pathlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from rlcomponents import pulse
from rlcomponents.launching import (
    endings,
    launchpad_runtime,
    node_reports,
    watched,
)


class Output:
    """Parts what nodes print from what the launcher shows.

    Each node's main thread prints into the node's log file, other threads (those that
    nodes start, and courier's) into one file of their own, the launcher's thread to
    where it did before. For what C++ code prints see `native_stderr_sent_to`.
    """

    def __init__(self, other_threads: TextIO) -> None:
        """Takes the file for threads that are not the main thread of a node."""
        self._files: dict[int, TextIO] = {}
        self._other_threads: TextIO | None = other_threads

    @contextlib.contextmanager
    def sent_to(self, file: TextIO) -> Iterator[None]:
        """Lets the calling thread print into a file meanwhile."""
        thread = threading.get_ident()
        self._files[thread] = file
        try:
            yield
        finally:
            del self._files[thread]

    @contextlib.contextmanager
    def parted(self) -> Iterator[None]:
        """Replaces `sys.stdout` and `sys.stderr`; call it in the launcher's thread."""
        launcher = threading.get_ident()
        originals = sys.stdout, sys.stderr

        def choose(original: TextIO) -> TextIO:
            thread = threading.get_ident()
            if thread == launcher:
                return original
            return self._files.get(thread) or self._other_threads or original

        sys.stdout = _ChosenStream(choose, sys.stdout)  # type: ignore[assignment]
        sys.stderr = _ChosenStream(choose, sys.stderr)  # type: ignore[assignment]
        try:
            yield
        finally:
            sys.stdout, sys.stderr = originals
            self._other_threads = None  # About to be closed.


class _ChosenStream:
    """Stands for another stream in each thread."""

    def __init__(self, choose: Callable[[TextIO], TextIO], original: TextIO) -> None:
        self._choose = choose
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._choose(self._original), name)


@contextlib.contextmanager
def native_stderr_sent_to(file: TextIO) -> Iterator[None]:
    """Sends what C++ code (Reverb, gRPC) prints into a file; Python's output stays.

    Args:
        file: Open for writing, with a file descriptor.
    """
    previous = sys.stderr
    with os.fdopen(os.dup(2), "w", buffering=1) as screen:
        if _descriptor(previous) == 2:
            sys.stderr = screen
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr = previous
            os.dup2(screen.fileno(), 2)


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError):  # Not a file: a test has taken it over.
        return None


class NodeThread(watched.Node):
    """A node in a thread."""

    KILLED = "was left behind, since a thread cannot be killed"
    """See `watched.Node`."""

    def __init__(
        self,
        name: str,
        function: Callable[[], Any],
        log_path: pathlib.Path,
        wake: watched.Wake,
        switch: launchpad_runtime.StopSwitch,
        output: Output,
    ) -> None:
        """Starts nothing.

        Args:
            name: `group/index`.
            function: The node's function.
            log_path: Takes what the thread prints, at its end.
            wake: Set when something happens to the thread.
            switch: For threads that are not the main thread of a node; turned with
                the first node's.
            output: Where to say where the thread prints to.
        """
        super().__init__(name, log_path)
        self._function = function
        self._wake = wake
        self._shared_switch = switch
        self._switch = launchpad_runtime.StopSwitch()
        self._output = output
        self._pulse = pulse.Pulse(say=self._say, say_of_disk=self._say_of_disk)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def stop_program(self) -> None:
        """What `lp.stop()` calls in this node; returns when the node is to stop."""
        self.called_stop = True
        self._wake.set()
        self._switch.wait_for_stop()

    @property
    def pid(self) -> int | None:
        """See `Node`."""
        return os.getpid()

    def _start(self) -> None:
        self._thread.start()

    def poll(self) -> None:
        """See `Node`."""
        now_secs = time.monotonic()
        waiting_for = self._pulse.waiting_for
        self.signs.take(
            now_secs,
            self._pulse.steps,
            self._pulse.is_stepping,
            waiting_for,
            now_secs - self._pulse.waiting_since_secs if waiting_for else 0.0,
            is_starting=self._pulse.is_starting,
            numbers=dict(self._pulse.numbers),
        )
        self.ended = self.ended or self.finished_secs is not None

    def request_stop(self) -> None:
        """See `Node`."""
        self._shared_switch.turn()
        self._switch.turn()

    def interrupt(self) -> None:
        """See `Node`."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(SystemExit)
        )

    def kill(self) -> None:
        """See `Node`. Only gives it up."""
        self.ended = True

    def close(self) -> None:
        """See `Node`."""
        self.request_stop()

    def _say(self, line: str) -> None:
        print(line)
        self.messages.append(line)
        self._wake.set()

    def _say_of_disk(self, news: pulse.DiskNews) -> None:
        print(news.line)
        self._send_of_disk(news)

    def _send_of_disk(self, news: pulse.DiskNews) -> None:
        self.messages.append(news)
        self._wake.set()

    def _run(self) -> None:
        try:
            with (
                self.log_path.open("ab", buffering=0) as file,
                node_reports.text_stream(
                    node_reports.Log(file.fileno(), self._send_of_disk)
                ) as log,
            ):
                log.write(f"{time.strftime('%F %T')} {self.name} starts as a thread\n")
                launchpad_runtime.use_in_this_thread(self._switch)
                pulse.use_in_this_thread(self._pulse)
                with self._output.sent_to(log):
                    self._call()
        except SystemExit as error:
            if error.code not in (None, 0):
                self._fail(error, f"ended with exit code {error.code}")
        except BaseException as error:  # Also where the log cannot be written.
            message = str(error).partition("\n")[0]
            self._fail(error, f"failed: {type(error).__name__}: {message}")
        finally:
            self.finished_secs = time.monotonic()
            self._wake.set()

    def _call(self) -> None:
        try:
            launchpad_runtime.call(self._function, self._switch)
        except Exception:
            traceback.print_exc()
            raise

    def _fail(self, error: BaseException, cause: str) -> None:
        lines = "".join(traceback.format_exception(error)).splitlines()
        self.failure = endings.Failure(cause, lines)


@contextlib.contextmanager
def cores_shared(num_nodes: int) -> Iterator[None]:
    """Sets TensorFlow's threads for several nodes in one process.

    One thread an operation, as in processes, but one operation a node at the same
    time: with a single inter-op thread all nodes would wait for each other. TensorFlow
    looks at its first operation, so this has no effect where that is past.
    """
    values = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": str(num_nodes)}
    previous = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
