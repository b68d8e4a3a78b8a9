"""Which nodes that died are started again, and when that is given up.

Memory that is full for a moment is no reason to end a program, nor is a rare fault; a
bug that kills a node at each start is. What tells them apart is whether the node has
completed a step, and whether one error comes again and again. A node that completes
steps and dies of this and that makes progress: it is started as often, but ever more
rarely.
"""

import datetime

from rlcomponents.launching import endings, watched

MAX_DEATHS = 3
"""Deaths of one node in a row, without a completed step, that end the program."""

MAX_SAME_ERRORS = 5
"""Deaths of one node in a row by one error, with whatever steps between, that end
the program.

Signals are no errors: memory may be full now and again. Nor does an error count on that
comes after a life of a minute.
"""

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
        self._same_errors: dict[str, tuple[str, int]] = {}
        self._planned: dict[str, tuple[float, endings.Restart]] = {}

    def plan(
        self, node: watched.Node, failure: endings.Failure, now_secs: float
    ) -> endings.Restart | endings.Failure:
        """Plans another start of a node that has died.

        The pause before it doubles with each death, up to half a minute; after a life
        of a minute it is short again.

        Returns:
            The start, or the failure that ends the program, where there shall be none:
            this was the last of `MAX_DEATHS` or `MAX_SAME_ERRORS`, or the node itself
            has said that a start would not help.
        """
        if failure.is_fatal:
            return failure
        long_lived = now_secs - node.started_secs >= _LONG_LIFE_SECS
        num_fruitless = self._num_fruitless.get(node.name, 0) + 1
        self._num_fruitless[node.name] = 0 if node.signs.steps else num_fruitless
        if self._num_fruitless[node.name] == MAX_DEATHS:
            return _last(
                failure, f"{MAX_DEATHS} times in a row without completing a step"
            )
        if self._count_error(node.name, failure, long_lived) == MAX_SAME_ERRORS:
            return _last(failure, f"{MAX_SAME_ERRORS} times in a row alike")
        pause_secs = self._pause_secs.get(node.name, _FIRST_PAUSE_SECS)
        if long_lived:
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

    def _count_error(
        self, name: str, failure: endings.Failure, long_lived: bool
    ) -> int:
        """Returns how often in a row a node has died by this error."""
        before, number = self._same_errors.get(name, ("", 0))
        if failure.by_signal:
            number = 0
        else:
            number = number + 1 if before == failure.cause and not long_lived else 1
        self._same_errors[name] = failure.cause, number
        return number

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


def _last(failure: endings.Failure, how_often: str) -> endings.Failure:
    cause = f"died {how_often}; the last time it {failure.cause}"
    return failure._replace(cause=cause)
