"""Processes that the kernel sends a signal when their parent dies, however it dies.

A parent that is killed by force can end nobody any more. Run as a script, this file
lets itself be sent SIGTERM then, and becomes another command: what it asked of the
kernel holds on. So commands need not know of it, and no Python runs between the fork
and the start of a process, which is not safe where there are threads.
Standard library only, as a node's process begins with this.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def die_with(parent_pid: int, number: int) -> None:
    """Lets the kernel send this process a signal when its parent dies.

    Args:
        parent_pid: Process id of the parent. Where it has died already, this process
            ends at once: nobody reads a report.
        number: Of the signal.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, number) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        os._exit(1)


def terminated_with_this(command: Sequence[str]) -> list[str]:
    """Returns a command that is sent SIGTERM when its parent, this process, dies.

    For the main thread: the kernel takes the end of the thread that started a process
    for the death of the parent.

    Args:
        command: The program and its arguments.
    """
    return [sys.executable, __file__, str(os.getpid()), *command]


if __name__ == "__main__":
    die_with(int(sys.argv[1]), signal.SIGTERM)
    os.execvp(sys.argv[2], sys.argv[2:])
