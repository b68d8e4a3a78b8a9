"""What discrete-event models are made of: clock, machines, processes and a network.

Used by `event_model`; knows nothing of learning. Nothing here takes real time.
"""

import dataclasses
import functools
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable

Then = Callable[[], None]
"""What happens next."""

_ROUNDING_SECS = 1e-12


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
    """Cores, given in turn to the processes that have something to do.

    Who has had a core for a slice of time goes behind those that wait for one. Slices
    of no length would be processor sharing.
    """

    def __init__(
        self,
        clock: Clock,
        cores: float,
        *,
        slice_secs: float = math.inf,
        busy_speed: float = 1.0,
    ) -> None:
        """Stores its settings.

        Args:
            clock: Of the simulation.
            cores: How many; of a fraction, each is slower in proportion, as where
                others use the machine, too.
            slice_secs: Work that a process does before it lets others go on.
            busy_speed: Speed of each core where more than one process computes as a
                slice begins.
        """
        self._clock = clock
        self._num_cores = math.ceil(cores)
        self._speed = cores / self._num_cores
        self._slice_secs = slice_secs
        self._busy_speed = busy_speed
        self._waiting: deque[Process] = deque()
        self._num_running = 0

    def wake(self, process: "Process") -> None:
        """Gives a process a core as soon as it is its turn."""
        self._waiting.append(process)
        self._fill_cores()

    def _fill_cores(self) -> None:
        while self._waiting and self._num_running < self._num_cores:
            self._num_running += 1
            self._run(self._waiting.popleft(), self._slice_secs)

    def _run(self, process: "Process", slice_secs: float) -> None:
        """Lets a process go on, to the end of its job or of its slice."""
        work_secs = min(process.jobs[0].left_secs, slice_secs)
        num_busy = self._num_running + len(self._waiting)
        speed = self._speed * (self._busy_speed if num_busy > 1 else 1.0)
        then = functools.partial(self._stop, process, work_secs, slice_secs - work_secs)
        self._clock.at(self._clock.now_secs + work_secs / speed, then)

    def _stop(self, process: "Process", work_secs: float, slice_secs: float) -> None:
        process.jobs[0].left_secs -= work_secs
        if process.jobs[0].left_secs <= _ROUNDING_SECS:
            process.jobs.popleft().then()
        if process.jobs and slice_secs > _ROUNDING_SECS:
            self._run(process, slice_secs)
            return
        self._num_running -= 1
        if process.jobs:
            self._waiting.append(process)
        else:
            process.rest()
        self._fill_cores()


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


@dataclasses.dataclass
class Job:
    """Something to do.

    Attributes:
        left_secs: Work that is left of it, on a core of its own.
        then: What happens when it is done.
    """

    left_secs: float
    then: Then


class Process:
    """Does one thing at a time, in the order asked.

    Attributes:
        jobs: What it has to do, by order.
        link: To the network.
    """

    def __init__(self, clock: Clock, machine: Machine) -> None:
        """Has nothing to do yet."""
        self.jobs: deque[Job] = deque()
        self.link = Link()
        self._clock = clock
        self._machine = machine
        self._since_secs: float | None = None
        self._before_secs = 0.0

    def do(self, secs: float, then: Then) -> None:
        """Does so much work when all that was asked before is done."""
        self.jobs.append(Job(secs, then))
        if self._since_secs is None:
            self._since_secs = self._clock.now_secs
            self._machine.wake(self)

    def rest(self) -> None:
        """Has nothing to do until it is asked again. For its machine."""
        self._before_secs = self.busy_secs()
        self._since_secs = None

    def busy_secs(self) -> float:
        """Returns how long it had something to do, in all."""
        if self._since_secs is None:
            return self._before_secs
        return self._before_secs + self._clock.now_secs - self._since_secs


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
