"""What a Launchpad program knows of its nodes: their names, and who calls whom."""

from collections.abc import Iterator

import launchpad as lp
from launchpad.nodes import base


def named_nodes(program: lp.Program) -> Iterator[tuple[str, base.Node]]:
    """Yields each node with its name, `group/index`."""
    for group, nodes in program.groups.items():
        for index, node in enumerate(nodes):
            yield f"{group}/{index}", node


def group_of(name: str) -> str:
    """Returns the group of the node with this name."""
    return name.rpartition("/")[0]


def names_of_handles(program: lp.Program) -> dict[int, str]:
    """Returns the name of the node behind each handle, by the handle's `id`."""
    return {
        id(handle): name
        for name, node in named_nodes(program)
        for handle in node._created_handles
    }


def calls(program: lp.Program) -> dict[str, list[str]]:
    """Returns, for each node, the nodes it was given handles of, in this order."""
    names = names_of_handles(program)
    return {
        name: [
            names[id(handle)] for handle in node.input_handles if id(handle) in names
        ]
        for name, node in named_nodes(program)
    }
