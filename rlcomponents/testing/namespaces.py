"""Does something inside the namespaces of a running program, from outside.

Standard library only. Linux: a process with several threads may not enter a user
namespace, so a child does.
"""

import ctypes
import os
from collections.abc import Callable, Sequence


def call_in(namespaces: Sequence[int], action: Callable[[], None], what: str) -> None:
    """Calls something inside namespaces, by a child: it has one thread, and may enter.

    Args:
        namespaces: Open files of them, in the order in which to enter.
        action: Changes what is in there; raises OSError where it fails.
        what: It does, for the message.

    Raises:
        OSError: The kernel refuses.
    """
    child = os.fork()
    if child == 0:
        code = 255
        try:
            for namespace in namespaces:
                check(libc().setns(namespace, 0))
            action()
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, f"{os.strerror(code)}: {what}")


def libc() -> ctypes.CDLL:
    """Returns the C library, of which Python 3.10 lacks some calls."""
    return ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    """Raises OSError where a call of the C library has failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
