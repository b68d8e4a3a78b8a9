"""Builds any node of a real program alone, in this process, to step it by hand.

    with harness.ProgramHarness(build_program(config, make_environment)) as program:
        learner = program.build("learner/0")
        learner.step()

Nothing is launched. What a node would reach over the network is built here, too, unless
a fake is given for it: courier peers behind `in_process.InProcessClient`, which is as
strict as courier about arguments, and replay servers as Reverb servers of this process.
"""

import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import launchpad as lp
import tree
from launchpad.nodes import dereference

from rlcomponents.launching import graph, launchpad_runtime, ports
from rlcomponents.nodes import replay_node
from rlcomponents.testing import in_process


class ProgramHarness:
    """The nodes of one program, each built when asked for. Not thread-safe.

    Until `close`, `lp.stop()`, `lp.stop_event()` and `lp.wait_for_stop()` work as in a
    node: any node's `lp.stop()` stops all.
    """

    def __init__(
        self, program: lp.Program, fakes: Mapping[str, Any] | None = None
    ) -> None:
        """Builds nothing yet.

        Args:
            program: Not to be launched afterwards.
            fakes: What nodes get in place of clients, by the peer's name
                (`group/index`) or its group. In place of a replay server: an address.

        Raises:
            ValueError: A fake has a name that the program does not know.
        """
        self._nodes = dict(graph.named_nodes(program))
        self._names_of_handles = graph.names_of_handles(program)
        self._fakes = dict(fakes or {})
        for name in self._fakes:
            if name not in self._nodes and name not in program.groups:
                raise ValueError(
                    f"There is a fake for {name!r}, but the nodes are "
                    f"{', '.join(self._nodes)}."
                )
        self._instances: dict[str, Any] = {}
        self._peers: dict[str, Any] = {}
        self._building: list[str] = []
        self._resources = contextlib.ExitStack()
        self._switch = launchpad_runtime.StopSwitch()
        self._resources.callback(
            launchpad_runtime.install(self._switch, self._switch.turn)
        )

    @property
    def stopped(self) -> bool:
        """Whether a node has called `lp.stop()`."""
        return self._switch.stop_event().is_set()

    def build(self, name: str) -> Any:
        """Returns the object that a node runs; its `run` is not called.

        Args:
            name: `group/index`. The same object each time, and for its peers.

        Raises:
            ValueError: There is no such node, it is made of a function and not of an
                object, or building it needs itself.
        """
        if name in self._instances:
            return self._instances[name]
        node = self._nodes.get(name)
        if not isinstance(node, lp.PyClassNode):
            buildable = [
                known
                for known, node in self._nodes.items()
                if isinstance(node, lp.PyClassNode)
            ]
            raise ValueError(
                f"{name!r} cannot be built alone: choose of {', '.join(buildable)}."
            )
        if name in self._building:
            circle = " -> ".join([*self._building, name])
            raise ValueError(f"{circle} need each other: give a fake for one of them.")
        self._building.append(name)
        try:
            args, kwargs = tree.map_structure(self._resolve, (node._args, node._kwargs))
            self._instances[name] = node._constructor(*args, **kwargs)
        finally:
            self._building.pop()
        return self._instances[name]

    def close(self) -> None:
        """Tells what runs to stop, and ends the replay servers."""
        self._switch.turn()
        self._resources.close()

    def __enter__(self) -> "ProgramHarness":
        """Returns itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes."""
        self.close()

    def _resolve(self, value: Any) -> Any:
        """Replaces what `dereference` would turn into a client."""
        if isinstance(value, dereference.Deferred):
            args, kwargs = tree.map_structure(
                self._resolve, (value._args, value._kwargs)
            )
            return value._constructor(*args, **kwargs)
        name = self._names_of_handles.get(id(value))
        return value if name is None else self._peer(name)

    def _peer(self, name: str) -> Any:
        for key in (name, graph.group_of(name)):
            if key in self._fakes:
                return self._fakes[key]
        if name not in self._peers:
            node = self._nodes[name]
            if isinstance(node, replay_node.ReplayNode):
                self._peers[name] = self._serve(node)
            else:
                instance = self.build(name)
                self._peers[name] = in_process.InProcessClient(instance, name)
        return self._peers[name]

    def _serve(self, node: replay_node.ReplayNode) -> str:
        from rlcomponents.replay import servers  # Imports TensorFlow.

        [port] = self._resources.enter_context(ports.reserve(1))
        server = servers.make_server(node.make_tables(), port)
        self._resources.callback(server.stop)
        return f"localhost:{port}"
