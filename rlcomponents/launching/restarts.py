"""Which nodes that died are started again, and when that is given up.

Memory that is full for a moment is no reason to end a program, nor is a rare fault; a
bug that kills a node at each start is. What tells them apart is whether the node has
completed a step. One that completes some and dies all the same, again and again, makes
progress: it is started as often, but ever more rarely.
"""

import datetime

from rlcomponents.launching import endings, watched

MAX_DEATHS = 3
"""Deaths of one node in a row, without a completed step, that end the program."""

_FIRST_PAUSE_SECS = 0.5
_MAX_PAUSE_SECS = 30.0
_LONG_LIFE_SECS = 60.0


class Restarts:
    """Plans the starts of one program's nodes after their first.

    Attributes:
        made: Those that have been made, in order.
    """

    def __init__(self) -> None:
        """Plans nothing yet."""
        self.made: list[endings.Restart] = []
        self._pause_secs: dict[str, float] = {}
        self._num_fruitless: dict[str, int] = {}
        self._planned: dict[str, tuple[float, endings.Restart]] = {}

    def plan(
        self, node: watched.Node, failure: endings.Failure, now_secs: float
    ) -> endings.Restart | None:
        """Plans another start of a node that has died.

        The pause before it doubles with each death, up to half a minute; after a life
        of a minute it is short again.

        Returns:
            The start, or None where there shall be none: this was the last of
            `MAX_DEATHS`, or the node itself has said that a start would not help.
        """
        if failure.is_fatal:
            return None
        num_fruitless = self._num_fruitless.get(node.name, 0) + 1
        self._num_fruitless[node.name] = 0 if node.signs.steps else num_fruitless
        if self._num_fruitless[node.name] == MAX_DEATHS:
            return None
        pause_secs = self._pause_secs.get(node.name, _FIRST_PAUSE_SECS)
        if now_secs - node.started_secs >= _LONG_LIFE_SECS:
            pause_secs = _FIRST_PAUSE_SECS
        self._pause_secs[node.name] = min(2 * pause_secs, _MAX_PAUSE_SECS)
        restart = endings.Restart(
            node=node.name,
            cause=failure.cause,
            time=datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
            starts=node.starts + 1,
            pause_secs=pause_secs,
        )
        self._planned[node.name] = now_secs + pause_secs, restart
        return restart

    def due_secs(self, node: watched.Node) -> float | None:
        """Returns when a node is to be started again; None where it is not."""
        planned = self._planned.get(node.name)
        return planned[0] if planned is not None else None

    def note_start(self, node: watched.Node) -> None:
        """Takes note that a planned start is made now."""
        self.made.append(self._planned.pop(node.name)[1])

    def give_up(self) -> None:
        """Forgets what is planned: the program ends."""
        self._planned.clear()
