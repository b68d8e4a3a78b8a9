"""Whether a program's nodes can open as many files as they need.

Pipes, sockets, logs and servers' ports are open files, too. Where the limit is reached
in mid-start, some library dies of it, with words in which nobody finds the cause.
"""

import resource

import launchpad as lp

_NUM_OWN_FILES = 128
"""Of the launcher, or a node, for libraries, servers and what it logs."""

_NUM_FILES_PER_NODE = 4
"""Of the launcher, for each node: its log, two pipes, and the port it serves."""


def check(program: lp.Program) -> None:
    """Refuses to launch where a process may not open enough files.

    Args:
        program: With all its nodes.

    Raises:
        ValueError: The limit is too low.
    """
    num_nodes = len(program.get_all_nodes())
    needed = _NUM_OWN_FILES + _NUM_FILES_PER_NODE * num_nodes
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise ValueError(
            f"A process may have {limit} files open here, and a program of {num_nodes} "
            f"nodes needs {needed}: raise the limit first, as with ulimit -n 4096."
        )
