"""What discrete-event models are made of: clock, machines, processes and a network.

Used by `event_model`; knows nothing of learning. Nothing here takes real time.
"""

import dataclasses
import heapq
import itertools
from collections import deque
from collections.abc import Callable

Then = Callable[[], None]
"""What happens next."""


class Clock:
    """Calls functions in the order of their times; of equal times, as planned.

    Attributes:
        now_secs: Since the start of the simulation.
    """

    def __init__(self) -> None:
        """Starts at 0."""
        self.now_secs = 0.0
        self._order = itertools.count()
        self._events: list[tuple[float, int, Then]] = []

    def after(self, secs: float, then: Then) -> None:
        """Calls a function so many seconds from now; at once where that is none."""
        if secs <= 0.0:
            then()
        else:
            self.at(self.now_secs + secs, then)

    def at(self, secs: float, then: Then) -> None:
        """Calls a function at a moment that is not over."""
        heapq.heappush(self._events, (secs, next(self._order), then))

    def run(self, is_over: Callable[[], bool]) -> None:
        """Lets time pass until something is the case."""
        while not is_over():
            self.now_secs, _, then = heapq.heappop(self._events)
            then()


class Machine:
    """Cores, divided equally among the processes that compute."""

    def __init__(self, clock: Clock, cores: float, busy_speed: float = 1.0) -> None:
        """Stores its settings.

        Args:
            clock: Of the simulation.
            cores: How many; a fraction where others have the rest.
            busy_speed: Speed of each while more than one process computes.
        """
        self._clock = clock
        self._cores = cores
        self._busy_speed = busy_speed
        # Work given so far to each job that was there from the start. A job ends when
        # this comes to its mark, so that no change of speed touches any job.
        self._given_secs = 0.0
        self._since_secs = 0.0
        self._jobs: list[tuple[float, int, Then]] = []
        self._order = itertools.count()
        self._planned = 0

    def compute(self, secs: float, then: Then) -> None:
        """Does work that takes so long on a core of its own."""
        self._advance()
        heapq.heappush(self._jobs, (self._given_secs + secs, next(self._order), then))
        self._plan()

    def _speed(self) -> float:
        num = len(self._jobs)
        return min(1.0, self._cores / num) * (self._busy_speed if num > 1 else 1.0)

    def _advance(self) -> None:
        now_secs = self._clock.now_secs
        if self._jobs:
            self._given_secs += (now_secs - self._since_secs) * self._speed()
        self._since_secs = now_secs

    def _plan(self) -> None:
        """Plans the next end; what was planned before no longer holds."""
        self._planned += 1
        if self._jobs:
            planned = self._planned
            left_secs = max(0.0, self._jobs[0][0] - self._given_secs)
            self._clock.at(
                self._clock.now_secs + left_secs / self._speed(),
                lambda: self._end(planned),
            )

    def _end(self, planned: int) -> None:
        if planned != self._planned:
            return
        self._advance()
        _, _, then = heapq.heappop(self._jobs)
        self._plan()
        then()


@dataclasses.dataclass
class Link:
    """A machine's link to the network: both directions, each used by one at a time.

    Attributes:
        out_free_secs: When the last message is out.
        in_free_secs: When the last message is in.
        out_secs: How long messages went out, in all.
        in_secs: How long messages came in, in all.
    """

    out_free_secs: float = 0.0
    in_free_secs: float = 0.0
    out_secs: float = 0.0
    in_secs: float = 0.0


class Process:
    """Does one thing at a time, in the order asked.

    Attributes:
        link: To the network.
    """

    def __init__(self, clock: Clock, machine: Machine) -> None:
        """Has nothing to do yet."""
        self.link = Link()
        self._clock = clock
        self._machine = machine
        self._queue: deque[tuple[float, Then]] = deque()
        self._since_secs = 0.0
        self._before_secs = 0.0

    def do(self, secs: float, then: Then) -> None:
        """Does so much work when all that was asked before is done."""
        self._queue.append((secs, then))
        if len(self._queue) == 1:
            self._since_secs = self._clock.now_secs
            self._machine.compute(secs, self._end)

    def busy_secs(self) -> float:
        """Returns how long it had something to do, in all."""
        now_secs = self._clock.now_secs
        return self._before_secs + (now_secs - self._since_secs if self._queue else 0.0)

    def _end(self) -> None:
        _, then = self._queue.popleft()
        if self._queue:
            self._machine.compute(self._queue[0][0], self._end)
        else:
            self._before_secs += self._clock.now_secs - self._since_secs
        then()


class Network:
    """Moves messages between the links of processes.

    A message is passed on while it still comes in: alone it takes its size over the
    rate once, not twice, and the latency.
    """

    def __init__(
        self, clock: Clock, bytes_per_sec: float | None, latency_secs: float
    ) -> None:
        """Stores its settings.

        Args:
            clock: Of the simulation.
            bytes_per_sec: Of each link, in each direction. None: size does not matter.
            latency_secs: Until the first byte arrives.
        """
        self._clock = clock
        self._bytes_per_sec = bytes_per_sec
        self._latency_secs = latency_secs

    def send(
        self, sender: Process, receiver: Process, size_bytes: float, then: Then
    ) -> None:
        """Moves a message; `then` is when its last byte has arrived."""
        clock = self._clock
        if self._bytes_per_sec is None or not size_bytes:
            clock.after(self._latency_secs, then)
            return
        secs = size_bytes / self._bytes_per_sec
        start_secs = max(clock.now_secs, sender.link.out_free_secs)
        sender.link.out_free_secs = start_secs + secs
        sender.link.out_secs += secs
        first_secs = start_secs + self._latency_secs

        def receive() -> None:
            link = receiver.link
            link.in_free_secs = max(first_secs, link.in_free_secs) + secs
            link.in_secs += secs
            clock.at(link.in_free_secs, then)

        clock.at(first_secs, receive)
