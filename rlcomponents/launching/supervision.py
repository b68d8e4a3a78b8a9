"""Watches the nodes of a program until all have ended, and ends them when asked.

A node that dies is started again, or its death ends the program: see `restarts`.

Knows neither processes nor threads: a `Node` says what became of it, and can be asked
to stop, then interrupted, then killed. Nothing here sleeps or asks again and again:
whatever happens to a node, and every signal, sets the `Wake`.

Differs: Launchpad tells all nodes at the same moment. Then servers vanish under calls
in flight, which wait for their time limits, and a last checkpoint finds no parameters.
Here a node is asked to stop when the nodes that call it have ended; one that saves for
the others, when those that nobody calls have, since they write what they leave at their
end.
"""

import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence

from rlcomponents.launching import (
    endings,
    graph,
    restarts,
    screen,
    watchdog,
    watched,
)

SAVING_ROLES = ("coordinator",)
"""Groups of nodes that save at the end what other nodes leave."""

_TICK_SECS = 1.0


class Supervisor:
    """Runs the nodes of one program to the end."""

    def __init__(
        self,
        nodes: Sequence[watched.Node],
        wake: watched.Wake,
        *,
        calls: Mapping[str, Sequence[str]],
        notice_secs: float,
        restart_nodes: bool,
        hang_timeout_secs: float | None = None,
        shown_on: screen.Screen,
        write_down: Callable[[], None] = lambda: None,
    ) -> None:
        """Stores its arguments.

        Args:
            nodes: Not started yet; all of them by the time of `run`.
            wake: Set by the nodes.
            calls: Names of the nodes that each node calls.
            notice_secs: From the end of the program to the end of its nodes by force.
                At a quarter of it at the latest, those of `SAVING_ROLES` no longer wait
                for nodes that leave something; at half of it, all nodes are asked to
                stop. When half of what is then left to a node has passed, it is
                interrupted.
            restart_nodes: Whether nodes that died are started again.
            hang_timeout_secs: See `watchdog.Watchdog`; a node that hangs is killed.
            shown_on: Brought up to date about once a second.
            write_down: Called just before, and once all is over.
        """
        self._nodes = nodes
        self._wake = wake
        self._calls = calls
        self._servers = {peer for peers in calls.values() for peer in peers}
        self._notice_secs = notice_secs
        self._screen = shown_on
        self._write_down = write_down
        self._watchdog = watchdog.Watchdog(hang_timeout_secs)
        self._restarts = restarts.Restarts() if restart_nodes else None
        self._signals: list[int] = []
        self._num_obeyed = 0
        self._stop_called = False
        self._ending: endings.Ending | None = None
        self._ending_since_secs = 0.0
        self._asked_secs: dict[str, float] = {}
        self._notes: list[str] = []
        self._judged: set[str] = set()
        self._interrupted: set[str] = set()
        self._killed: set[str] = set()
        self._next_tick_secs = 0.0

    def receive_signal(self, number: int) -> None:
        """Takes note of a signal; to be called by a signal handler."""
        self._signals.append(number)
        self._wake.set()

    def stop(self) -> None:
        """Ends the program, for a thread that belongs to no node."""
        self._stop_called = True
        self._wake.set()

    def run(self) -> endings.Ending:
        """Starts the nodes, and returns when all have ended.

        Raises:
            Exception: What the live view raised; the nodes have been stopped first.
        """
        self._next_tick_secs = time.monotonic() + _TICK_SECS
        for node in self._nodes:
            self._start(node)
        is_over = False
        while not is_over:
            self._wake.wait(self._next_secs() - time.monotonic())
            for node in self._nodes:
                node.poll()
                while node.messages:
                    self._screen.show(node.name, node.messages.popleft())
            self._obey_signals()  # First: a scheduler may signal the nodes as well.
            self._judge()
            self._start_again()
            self._hurry()
            is_over = all(self._is_over(node) for node in self._nodes)
            if time.monotonic() >= self._next_tick_secs:
                self._next_tick_secs = time.monotonic() + _TICK_SECS
                self._watch()
                self._write_down()
                self._screen.tick()
                if self._screen.error is not None:
                    self._end(endings.Ending(endings.NODE_DIED, "live view failed"))
        self._write_down()
        if self._screen.error is not None:
            raise self._screen.error
        ending = self._ending or endings.Ending(endings.FINISHED, "finished")
        lines = [*self._notes, ending.detail]
        return ending._replace(
            detail="\n".join(line for line in lines if line),
            restarts=tuple(self._restarts.made) if self._restarts is not None else (),
        )

    def _start(self, node: watched.Node) -> None:
        self._screen.forget(node.name)
        try:
            node.start()
        except (OSError, RuntimeError) as error:  # Such as too many processes, threads.
            node.failure = endings.Failure(f"could not be started: {error}")
            self._wake.set()

    def _is_over(self, node: watched.Node) -> bool:
        is_judged = node.failure is None or node.name in self._judged
        return node.ended and is_judged and self._due_secs(node) is None

    def _due_secs(self, node: watched.Node) -> float | None:
        """When it is to be started again; None where it is not."""
        if self._restarts is None or not node.ended:
            return None
        return self._restarts.due_secs(node)

    def _start_again(self) -> None:
        if self._restarts is None:
            return
        if self._ending is not None:
            self._restarts.give_up()
        for node in self._nodes:
            due_secs = self._due_secs(node)
            if due_secs is not None and time.monotonic() >= due_secs:
                self._restarts.note_start(node)
                for names in (self._judged, self._interrupted, self._killed):
                    names.discard(node.name)
                self._start(node)

    def _obey_signals(self) -> None:
        for number in self._signals[self._num_obeyed :]:
            self._num_obeyed += 1
            if number == signal.SIGINT:
                self._end(endings.Ending(endings.INTERRUPTED, "interrupted"))
            else:
                reason = f"terminated by {signal.Signals(number).name}"
                self._end(endings.Ending(endings.TERMINATED, reason))
        if self._signals.count(signal.SIGINT) > 1:
            self._notice_secs = 0.0

    def _judge(self) -> None:
        """Ends the program if a node has stopped it or died."""
        for node in self._nodes:
            if node.called_stop:
                self._end(endings.Ending(endings.FINISHED, "stopped", node.name))
        if self._stop_called:
            self._end(endings.Ending(endings.FINISHED, "stopped"))
        failures = [
            (node, node.failure) for node in self._nodes if node.failure is not None
        ]
        # A node that was killed makes its peers fail, not the other way round.
        for node, failure in sorted(failures, key=lambda pair: not pair[1].by_signal):
            if node.name in self._judged:
                continue
            self._judged.add(node.name)
            if self._ending is None:
                self._take_death(node, failure)
            elif not (
                failure.by_signal and self._ending.exit_code == endings.TERMINATED
            ):
                self._notes.append(
                    f"While the program was ending, {node.name} {failure.cause}; see "
                    f"{node.log_path}"
                )

    def _take_death(self, node: watched.Node, failure: endings.Failure) -> None:
        """Plans another start, or ends the program."""
        if self._restarts is not None:
            planned = self._restarts.plan(node, failure, time.monotonic())
            if isinstance(planned, endings.Restart):
                self._screen.say(
                    f"{node.name} {failure.cause}; it starts again in "
                    f"{planned.pause_secs:g} s (start {planned.starts + 1}); log: "
                    f"{node.log_path}"
                )
                return
            failure = planned
        text = endings.describe_failure(
            node.name, failure, node.log_path, node.log_start_bytes
        )
        self._end(endings.Ending(endings.NODE_DIED, "node died", node.name, text))

    def _watch(self) -> None:
        """Shows who waits for whom, and kills who hangs."""
        if self._ending is not None:
            return
        at_work = [
            node
            for node in self._nodes
            if not node.ended and node.finished_secs is None
            if node.name not in self._killed
        ]
        line, hung = self._watchdog.look(at_work, time.monotonic())
        if line is not None:
            self._screen.say(line)
        for node, cause in hung:
            self._killed.add(node.name)
            node.failure = endings.Failure(cause, by_signal=True)
            node.kill()
            self._wake.set()

    def _end(self, ending: endings.Ending) -> None:
        """Lets the program end; the first reason stays."""
        if self._ending is None:
            self._ending = ending
            self._ending_since_secs = time.monotonic()

    def _hurry(self) -> None:
        """Asks, interrupts and kills nodes, each when it is time."""
        self._ask_to_stop()
        for node in self._nodes:
            if node.ended or node.name in self._killed:
                continue
            interrupt_secs, kill_secs = self._limits_secs(node)
            now_secs = time.monotonic()
            if now_secs >= kill_secs:
                self._kill(node)
            elif now_secs >= interrupt_secs and node.name not in self._interrupted:
                self._interrupted.add(node.name)
                node.interrupt()

    def _ask_to_stop(self) -> None:
        if self._ending is None:
            return
        alive = [node for node in self._nodes if not node.ended]
        called = {
            peer
            for node in alive
            for peer in self._calls[node.name]
            if peer != node.name and node.finished_secs is None
        }
        ready = [node for node in alive if node.name not in called]
        others = [node for node in ready if not _saves(node)]
        if time.monotonic() < self._ask_saving_secs() and any(
            node.finished_secs is None and node.name not in self._servers
            for node in others
        ):
            ready = others
        # None of them where the rest call each other in a circle.
        if not ready or time.monotonic() >= self._ask_all_secs():
            ready = alive
        for node in ready:
            if node.name not in self._asked_secs:
                self._asked_secs[node.name] = time.monotonic()
                node.request_stop()

    def _kill(self, node: watched.Node) -> None:
        self._killed.add(node.name)
        if node.finished_secs is None:  # Else only its interpreter hangs.
            passed_secs = time.monotonic() - self._ending_since_secs
            self._notes.append(
                f"{node.name} had not stopped after {passed_secs:.1f} s and "
                f"{node.KILLED}; see {node.log_path}"
            )
        node.kill()

    def _ask_saving_secs(self) -> float:
        # Well before all are asked: what is to be saved is in servers that then end.
        return self._ending_since_secs + 0.25 * self._notice_secs

    def _ask_all_secs(self) -> float:
        return self._ending_since_secs + 0.5 * self._notice_secs

    def _limits_secs(self, node: watched.Node) -> tuple[float, float]:
        """When to interrupt and when to kill a node; infinite while it may run."""
        if self._ending is not None:
            kill_secs = self._ending_since_secs + self._notice_secs
            asked_secs = self._asked_secs.get(node.name, kill_secs)
            return (asked_secs + kill_secs) / 2, kill_secs
        if node.finished_secs is not None:
            kill_secs = node.finished_secs + self._notice_secs
            return kill_secs, kill_secs
        return math.inf, math.inf

    def _next_secs(self) -> float:
        """When there is next something to do if nothing happens."""
        limits = [self._next_tick_secs]
        for node in self._nodes:
            if not node.ended and node.name not in self._killed:
                interrupt_secs, kill_secs = self._limits_secs(node)
                interrupted = node.name in self._interrupted
                limits.append(kill_secs if interrupted else interrupt_secs)
                if self._ending is not None and node.name not in self._asked_secs:
                    limits.append(self._ask_all_secs())
                    if _saves(node) and time.monotonic() < self._ask_saving_secs():
                        limits.append(self._ask_saving_secs())
            due_secs = self._due_secs(node)
            if due_secs is not None:
                limits.append(due_secs)
        return min(limits)


def _saves(node: watched.Node) -> bool:
    return graph.group_of(node.name) in SAVING_ROLES
