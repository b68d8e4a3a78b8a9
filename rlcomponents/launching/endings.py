"""How a program can end: exit codes, and what the last lines on the screen say.

Exit codes of a launched program:
    0    all nodes returned, or one of them called `lp.stop()`
    1    a node died (exception, exit code other than 0, signal, silence) and was not to
         be started again, or died again and again without completing a step
    130  Ctrl-C (SIGINT)
    143  told to end from outside (SIGTERM, SIGHUP)
Scripts use 2 for settings that are refused before anything starts, and 141, as a shell
does, where whatever read their output has gone (`| head`).
"""

import pathlib
from collections.abc import Sequence
from typing import NamedTuple

FINISHED = 0
"""Exit code: the program came to its end."""

NODE_DIED = 1
"""Exit code: a node died for good."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

TERMINATED = 143
"""Exit code after SIGTERM or SIGHUP."""

OUTPUT_CLOSED = 141
"""Exit code: nobody reads the output any more."""

_NUM_LAST_LINES = 12
_MAX_TAIL_BYTES = 16_384


class Restart(NamedTuple):
    """A node that was started again.

    Attributes:
        node: `group/index`.
        cause: How it had died; completes the sentence that starts with its name.
        time: When it had died: UTC, ISO 8601.
        starts: How often it had been started before.
        pause_secs: From its death to its start, at least.
    """

    node: str
    cause: str
    time: str
    starts: int
    pause_secs: float


class Ending(NamedTuple):
    """Why a program ended.

    Attributes:
        exit_code: For `sys.exit`; see the module's docstring.
        reason: A few words: "finished", "stopped", "node died", "interrupted",
            "terminated by SIGTERM" or "terminated by SIGHUP".
        node: The node that stopped the program or died, `group/index`; None where it
            was no node.
        detail: What the launcher has shown on stderr: nodes that died or had to be
            killed. Lines of text, may be empty.
        restarts: Nodes that were started again, in order.
    """

    exit_code: int
    reason: str
    node: str | None = None
    detail: str = ""
    restarts: Sequence[Restart] = ()


class Failure(NamedTuple):
    """How one node died.

    Attributes:
        cause: Completes the sentence that starts with the node's name.
        traceback: Lines of the traceback, last call last; empty where there is none.
        by_signal: Whether a signal ended it, so that no peer can be the cause.
        is_fatal: Whether it said itself that no new start would help.
    """

    cause: str
    traceback: Sequence[str] = ()
    by_signal: bool = False
    is_fatal: bool = False


def describe_failure(
    node: str, failure: Failure, log_path: pathlib.Path, log_start_bytes: int
) -> str:
    """Returns the lines that name the node, the cause, the place and the log file.

    Args:
        node: Name of the node, `group/index`.
        failure: How it died. Without a traceback the log's last lines stand in.
        log_path: Its log file.
        log_start_bytes: Where this start begins in the log file.
    """
    lines = [f"{node} {failure.cause}"]
    if failure.traceback:
        lines += ["Last frames of its traceback:"]
        lines += failure.traceback[-_NUM_LAST_LINES:]
    else:
        tail = _last_lines(log_path, log_start_bytes)
        lines += ["Last lines of its log:", *tail] if tail else ["Its log is empty."]
    return "\n".join([*lines, f"Log file of {node}: {log_path}"])


def _last_lines(path: pathlib.Path, start_bytes: int) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(start_bytes, file.tell() - _MAX_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError as error:  # Such as a run folder that somebody has removed.
        return [f"(cannot be read: {error.strerror})"]
    return text.splitlines()[-_NUM_LAST_LINES:]
