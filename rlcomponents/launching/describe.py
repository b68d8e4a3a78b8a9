"""The graph of a program as text: which groups, how many nodes, who calls whom."""

import launchpad as lp

from rlcomponents.launching import graph


def describe(program: lp.Program) -> str:
    """Returns one line a group: its name, its size, and the groups that it calls.

        gorila_dqn: 5 nodes
          parameters   x 2
          bundle       x 2  -> parameters
          coordinator  x 1  -> parameters, bundle

    Args:
        program: Need not have been launched.
    """
    called: dict[str, list[str]] = {group: [] for group in program.groups}
    for name, peers in graph.calls(program).items():
        called[graph.group_of(name)] += map(graph.group_of, peers)
    width = max((len(group) for group in program.groups), default=0)
    digits = max((len(str(len(nodes))) for nodes in program.groups.values()), default=0)
    num_nodes = len(program.get_all_nodes())
    lines = [f"{program.name}: {num_nodes} node{'s' if num_nodes != 1 else ''}"]
    for group, nodes in program.groups.items():
        peers = list(dict.fromkeys(called[group]))  # Each once, in order.
        arrow = f"  -> {', '.join(peers)}" if peers else ""
        lines.append(f"  {group:{width}}  x {len(nodes):{digits}}{arrow}")
    return "\n".join(lines)
