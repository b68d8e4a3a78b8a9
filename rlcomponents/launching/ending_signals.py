"""The signals that end programs, for the time that a program runs."""

import contextlib
import signal
import threading
import types
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def sent_to(receive: Callable[[int], None]) -> Iterator[None]:
    """Lets `receive` have SIGINT, SIGTERM and SIGHUP, and puts their handlers back.

    Python lets only the main thread take signals; elsewhere nothing is done.

    Args:
        receive: Called in the main thread, at any moment, with the signal's number.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def take(number: int, frame: types.FrameType | None) -> None:
        receive(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # Not under nohup.
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, take) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            if handler is not None:  # None: installed by C code, cannot be put back.
                signal.signal(number, handler)
