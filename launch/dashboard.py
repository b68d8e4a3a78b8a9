"""Shows runs in the browser while they go on, and after: graph, nodes, curves, logs.

    python launch/dashboard.py runs/a3c-* runs/dqn-* --port=8080

serves one page to browsers on this machine, until Ctrl-C. It reads the run folders
and nothing else: runs do not wait for it, and need not have begun.
"""

import dataclasses
import signal
import sys
from collections.abc import Sequence

from launch import command_line
from rlcomponents.dashboard import data, server
from rlcomponents.launching import endings

_MAX_PORT = 65_535


@dataclasses.dataclass(frozen=True, kw_only=True)
class DashboardFlags:
    """Flags of the script.

    Attributes:
        port: At which the page is served, to this machine only. 0: one that is free.
    """

    port: int = 0


def main(argv: Sequence[str]) -> int:
    """Serves the page until Ctrl-C; returns the exit code."""
    flags, _, run_dirs = command_line.parse(
        argv, str(__doc__), run_class=DashboardFlags, operands="RUN_DIR"
    )
    with command_line.bad_input_refused():
        if not 0 <= flags.port <= _MAX_PORT:
            raise ValueError(
                f"--port is {flags.port}: it must be a port, 1 to {_MAX_PORT}, or 0."
            )
        serving = server.DashboardServer(data.Dashboard(run_dirs), flags.port)
    # A script's background jobs are started with it ignored, and sent it all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        runs = "1 run" if len(run_dirs) == 1 else f"{len(run_dirs)} runs"
        print(f"{serving.address} shows {runs}; Ctrl-C ends it.")
        sys.stdout.flush()
        serving.serve_forever()
    except KeyboardInterrupt:
        return endings.INTERRUPTED
    finally:
        serving.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
