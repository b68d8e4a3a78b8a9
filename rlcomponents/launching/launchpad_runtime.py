"""What Launchpad's node code finds around it, under our launcher.

Inside a node, `lp.stop_event()` and `lp.wait_for_stop()` look for a worker manager in a
thread-local variable, and `lp.stop()` for a launch context in another. Launchpad puts
its own there; it installs signal handlers, and its `lp.stop()` is a SIGTERM to the
launcher, not to be told from a scheduler's. We put a switch there which the launcher
turns. It is there for every thread, those included that a node starts by itself.

Differs: `lp.wait_for_stop` of the pinned Launchpad returns None whatever happens, so
that `while not lp.wait_for_stop(1.0)` never ends. Under our launcher it returns a bool.
Code that must also run under Launchpad's own launchers (its test types) uses
`lp.stop_event().wait(1.0)`.
"""

import functools
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import launchpad as lp
from absl import flags
from launchpad import context as lp_context
from launchpad.launch import worker_manager, worker_manager_migration


class StopSwitch:
    """Turned once, by the launcher, when the program ends. Thread-safe.

    Has the methods that Launchpad expects of a worker manager.
    """

    def __init__(self) -> None:
        """Starts turned off."""
        self._event = threading.Event()
        signals = (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGALRM)
        self._handlers: dict[int, set[Callable[[], None]]] = {
            number: set() for number in (*signals, signal.SIGUSR1)
        }

    def turn(self) -> None:
        """Tells the nodes, and calls what `lp.register_stop_handler` was given."""
        if self._event.is_set():
            return
        self._event.set()
        handlers = self._handlers[signal.SIGUSR1]
        for handler in tuple(handlers):
            handlers.discard(handler)
            try:
                handler()
            except Exception:  # One node's handler must not keep the others running.
                traceback.print_exc()

    def wait_for_stop(self, timeout_secs: float | None = None) -> bool:
        """Waits until the program ends or the time has passed; whether it ends."""
        return self._event.wait(timeout_secs)

    def stop_event(self) -> threading.Event:
        """Returns the event that is set when the program ends."""
        return self._event


class _InEveryThread(threading.local):
    """A thread-local object whose values each thread starts with."""

    def __init__(self, **values: Any) -> None:
        """Called by `threading.local` in each thread that looks."""
        self.__dict__.update(values)


def use_in_this_thread(switch: StopSwitch) -> None:
    """Gives the calling thread a switch of its own, once `install` has been called."""
    worker_manager._WORKER_MANAGERS.manager = switch


def call(function: Callable[[], Any], switch: StopSwitch) -> None:
    """Calls the function of a node.

    Raises:
        RuntimeError: It exited before it was to stop, as `sys.exit()` somewhere in an
            environment does. Its peers would wait for it for ever.
        BaseException: What else it raises.
    """
    try:
        function()
    except SystemExit as error:
        if error.code not in (None, 0) or switch.stop_event().is_set():
            raise
        raise RuntimeError("sys.exit() before the node was to stop") from error


def stop_program() -> None:
    """Ends the program of this process's node; what `lp.stop()` calls.

    A function of the module, so that a node bound for another process can carry it.
    """
    _stop_program()


def _stop_program() -> None:
    raise RuntimeError("lp.stop() works inside a node of a running program only.")


def install(switch: StopSwitch, stop: Callable[[], None]) -> Callable[[], None]:
    """Makes the `lp` calls work in all threads of this process.

    Args:
        switch: What `lp.stop_event()` and `lp.wait_for_stop()` wait for.
        stop: What `lp.stop()` calls, save in the main thread of a node that was given
            another in its launch context.

    Returns:
        A function that undoes it.
    """
    if not flags.FLAGS.is_parsed():  # Launchpad's nodes ask flags of Launchpad's.
        flags.FLAGS(sys.argv[:1], known_only=True)
    launch_context = lp_context.LaunchContext()
    launch_context.initialize(lp.LaunchType.LOCAL_MULTI_PROCESSING, None, stop_program)
    wait_for_stop = worker_manager.wait_for_stop
    replacements: list[tuple[Any, str, Any]] = [
        (worker_manager, "_WORKER_MANAGERS", _InEveryThread(manager=switch)),
        # With a table in place, Launchpad installs no signal handlers of its own.
        (worker_manager, "_SIGNAL_HANDLERS", switch._handlers),
        (lp_context, "_LAUNCH_CONTEXT", _InEveryThread(lp_context=launch_context)),
        (lp, "wait_for_stop", wait_for_stop),
        (worker_manager_migration, "wait_for_stop", wait_for_stop),
        (sys.modules[__name__], "_stop_program", stop),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]

    def assign(assignments: list[tuple[Any, str, Any]]) -> None:
        for owner, name, value in assignments:
            setattr(owner, name, value)

    assign(replacements)
    return functools.partial(assign, originals)
