"""A discrete-event model of a program with parameter shards, such as Gorila.

Workers go round a cycle: act, pull from all shards at once, compute a gradient, push to
all shards at once. A bundle does all of it, a learner does not act, an actor does not
push. What they compute takes a random time; what they wait for comes of the others:

- Every worker and every shard is a process that does one thing at a time, in the order
  in which it was asked.
- Processes either share the cores of one machine, which those that compute have in
  turn, a slice of time each, or have a machine with one core each.
- A message occupies the sender's link and the receiver's, one message at a time in each
  direction, and is passed on while it is still coming in.
- A shard counts the updates it applied. How stale a gradient is, and whether it is
  discarded for it, follows from the count at its pull and the count at its push.

`scaling_fit` finds the times by measuring; `predict_scaling` asks for sizes that cannot
be measured here.

Reference:
    Lazowska et al. 1984, Quantitative System Performance, chapter 5: the bounds.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import queueing


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU time of one call at one end of it.

    Attributes:
        call_secs: Whatever it carries.
        byte_secs: For each byte that it carries.
    """

    call_secs: float = 0.0
    byte_secs: float = 0.0

    def secs(self, size_bytes: float) -> float:
        """Returns the time of a call that carries so many bytes."""
        return self.call_secs + self.byte_secs * size_bytes

    def times(self, factor: float) -> "Cost":
        """Returns the cost on a core that is slower by a factor."""
        return Cost(
            call_secs=factor * self.call_secs, byte_secs=factor * self.byte_secs
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workers:
    """Workers that are alike: bundles, learners or actors.

    Attributes:
        number: How many.
        agent_steps: Steps taken in one cycle; 0 of a learner.
        acting_secs: Mean CPU time of all these steps together.
        gradient_secs: Mean CPU time of one gradient.
        pushes: Whether they push; an actor only pulls.
    """

    number: int
    agent_steps: int = 0
    acting_secs: float = 0.0
    gradient_secs: float = 0.0
    pushes: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
    """A program and what it runs on.

    Attributes:
        workers: Groups of workers.
        num_shards: Parameter shards.
        parameter_bytes: Of all parameters together.
        worker_pull: Cost of a pull from one shard, at the worker.
        worker_push: Cost of a push to one shard, at the worker.
        shard_pull: Cost of a pull, at the shard.
        shard_push: Cost of a push, at the shard, with the update.
        max_staleness_updates: Older gradients are discarded. None: none are.
        cores: Of the one machine that all processes share. None: each has a machine of
            its own, with one core.
        slice_secs: Work that a process does on a shared core before others' turn. By
            default what Linux, whose slice ends with a tick, comes to.
        busy_speed: Speed of each core while others compute as well; 1 is as alone.
        network_bytes_per_sec: Of each machine's link, in each direction. None:
            messages take no time but the latency.
        latency_secs: From the sending of a message to its first byte's arrival.
        variation: Standard deviation of acting and gradient times over their mean; they
            have a gamma distribution.
    """

    workers: tuple[Workers, ...]
    num_shards: int
    parameter_bytes: float
    worker_pull: Cost = Cost()
    worker_push: Cost = Cost()
    shard_pull: Cost = Cost()
    shard_push: Cost = Cost()
    max_staleness_updates: int | None = None
    cores: float | None = None
    slice_secs: float = 0.003
    busy_speed: float = 1.0
    network_bytes_per_sec: float | None = None
    latency_secs: float = 0.0
    variation: float = 0.0

    def __post_init__(self) -> None:
        """Refuses programs that would never do anything."""
        if not any(each.number > 0 and each.pushes for each in self.workers):
            raise ValueError("Nobody pushes: give workers with number >= 1.")
        if self.num_shards < 1:
            raise ValueError(f"num_shards is {self.num_shards}: give 1 or more.")

    @property
    def part_bytes(self) -> float:
        """Bytes of one shard's part."""
        return self.parameter_bytes / self.num_shards


class Result(NamedTuple):
    """What a program does in its steady state.

    Attributes:
        updates_per_sec: Gradients that a shard applies; the mean of all shards.
        agent_steps_per_sec: Of all workers.
        pulls_per_sec: From each shard.
        pushes_per_sec: To each shard, discarded ones as well.
        mean_staleness_updates: Of the gradients applied.
        discarded_fraction: Of the gradients pushed.
        pull_secs: Mean time from the start of a pull until all parts are there.
        push_secs: Mean time from the start of a push until all shards have answered.
        shard_busy: Part of the time that a shard computes, or waits for a core to.
        shard_link_busy: Part of the time that the busier direction of a shard's link
            is occupied; 0 without a network.
    """

    updates_per_sec: float
    agent_steps_per_sec: float
    pulls_per_sec: float
    pushes_per_sec: float
    mean_staleness_updates: float
    discarded_fraction: float
    pull_secs: float
    push_secs: float
    shard_busy: float
    shard_link_busy: float


class Bounds(NamedTuple):
    """What queueing theory says without a simulation.

    Attributes:
        cycle_secs: Of one bundle that has all shards to itself, at least.
        bottleneck: What saturates first.
        saturated_updates_per_sec: More the bottleneck does not let through.
        knee_bundles: Where the two lines cross: fewer bundles hardly wait, more add
            nothing.
    """

    cycle_secs: float
    bottleneck: str
    saturated_updates_per_sec: float
    knee_bundles: float


def bounds(program: Program) -> Bounds:
    """Returns the asymptotic bounds of a program of bundles that are alike."""
    (bundle,) = program.workers
    part, num = program.part_bytes, program.num_shards
    rate = program.network_bytes_per_sec
    wire_secs = part / rate if rate else 0.0
    shard_secs = program.shard_pull.secs(part) + program.shard_push.secs(part)
    worker_secs = [
        cost.secs(part) for cost in (program.worker_pull, program.worker_push)
    ]
    computing_secs = bundle.acting_secs + bundle.gradient_secs
    # What goes over the wire of a worker is handled while the next part is on it.
    moving_secs = num * sum(max(wire_secs, secs) for secs in worker_secs)
    cycle_secs = computing_secs + moving_secs + shard_secs + 4 * program.latency_secs
    if program.cores is None:
        demands = {"a shard's core": shard_secs, "a shard's link": wire_secs}
    else:
        all_secs = computing_secs + num * (shard_secs + sum(worker_secs))
        demands = {"the cores": all_secs / (program.cores * program.busy_speed)}
    bottleneck = max(demands, key=lambda name: demands[name])
    saturated = 1.0 / demands[bottleneck] if demands[bottleneck] else float("inf")
    return Bounds(cycle_secs, bottleneck, saturated, saturated * cycle_secs)


def simulate(
    program: Program,
    *,
    cycles: int = 60,
    warm_cycles: int = 15,
    seed: int = 0,
) -> Result:
    """Runs the model and returns what it does once it is warm.

    Args:
        program: The program.
        cycles: Pushes that count, for each worker that pushes.
        warm_cycles: Pushes before those, for each.
        seed: Of the random times.
    """
    return _Simulation(program, np.random.default_rng(seed)).run(warm_cycles, cycles)


@dataclasses.dataclass
class _Counts:
    """Sums since the model was warm."""

    pulls: int = 0
    pushes: int = 0
    updates: int = 0
    staleness_updates: int = 0
    agent_steps: int = 0
    pull_secs: list[float] = dataclasses.field(default_factory=list)
    push_secs: list[float] = dataclasses.field(default_factory=list)


class _Worker:
    """Where one worker is in its cycle."""

    def __init__(
        self, group: Workers, process: queueing.Process, num_shards: int
    ) -> None:
        self.group = group
        self.process = process
        self.versions = [0] * num_shards
        self.num_missing = 0
        self.called_secs = 0.0


class _Simulation:
    """One run of the model."""

    def __init__(self, program: Program, rng: np.random.Generator) -> None:
        self._program = program
        self._rng = rng
        self._clock = clock = queueing.Clock()
        self._network = queueing.Network(
            clock, program.network_bytes_per_sec, program.latency_secs
        )
        self._shared = None
        if program.cores is not None:
            self._shared = queueing.Machine(
                clock,
                program.cores,
                slice_secs=program.slice_secs,
                busy_speed=program.busy_speed,
            )
        self._shards = [self._make_process() for _ in range(program.num_shards)]
        self._versions = [0] * program.num_shards
        self._counts = _Counts()
        self._num_pushing = 0
        for group in program.workers:
            for _ in range(group.number):
                self._num_pushing += group.pushes
                worker = _Worker(group, self._make_process(), program.num_shards)
                # Not all in step from the start.
                start_secs = rng.uniform(0, group.acting_secs + group.gradient_secs)
                clock.at(start_secs, functools.partial(self._act, worker))

    def run(self, warm_cycles: int, cycles: int) -> Result:
        self._go_on(warm_cycles)
        start_secs, busy, link = self._clock.now_secs, *self._shard_secs()
        counts = self._go_on(cycles)
        secs = self._clock.now_secs - start_secs
        busy_after, link_after = self._shard_secs()
        num = self._program.num_shards
        return Result(
            updates_per_sec=counts.updates / num / secs,
            agent_steps_per_sec=counts.agent_steps / secs,
            pulls_per_sec=counts.pulls / num / secs,
            pushes_per_sec=counts.pushes / num / secs,
            mean_staleness_updates=counts.staleness_updates / max(1, counts.updates),
            discarded_fraction=1.0 - counts.updates / counts.pushes,
            pull_secs=float(np.mean(counts.pull_secs)),
            push_secs=float(np.mean(counts.push_secs)),
            shard_busy=(busy_after - busy) / secs,
            shard_link_busy=(link_after - link) / secs,
        )

    def _go_on(self, cycles: int) -> _Counts:
        """Lets each worker push about so often; returns what was counted."""
        self._counts = counts = _Counts()
        num_pushes = cycles * self._num_pushing * self._program.num_shards
        self._clock.run(lambda: counts.pushes >= num_pushes)
        return counts

    def _make_process(self) -> queueing.Process:
        machine = self._shared or queueing.Machine(self._clock, 1.0)
        return queueing.Process(self._clock, machine)

    def _shard_secs(self) -> tuple[float, float]:
        """Returns how long a shard, and its link, were busy; the mean of all."""
        links = [shard.link for shard in self._shards]
        return (
            float(np.mean([shard.busy_secs() for shard in self._shards])),
            float(np.mean([max(link.out_secs, link.in_secs) for link in links])),
        )

    def _draw(self, mean_secs: float) -> float:
        variance = self._program.variation**2
        if not variance or not mean_secs:
            return mean_secs
        return self._rng.gamma(1.0 / variance, mean_secs * variance)

    def _act(self, worker: _Worker) -> None:
        secs = self._draw(worker.group.acting_secs)
        worker.process.do(secs, functools.partial(self._pull, worker))

    def _pull(self, worker: _Worker) -> None:
        self._counts.agent_steps += worker.group.agent_steps
        worker.called_secs = self._clock.now_secs
        worker.num_missing = self._program.num_shards
        for index, shard in enumerate(self._shards):
            arrive = functools.partial(self._serve_pull, worker, index)
            self._network.send(worker.process, shard, 0, arrive)

    def _serve_pull(self, worker: _Worker, index: int) -> None:
        program, shard = self._program, self._shards[index]
        size_bytes = program.part_bytes

        def answer() -> None:
            worker.versions[index] = self._versions[index]
            self._counts.pulls += 1
            self._network.send(shard, worker.process, size_bytes, receive)

        def receive() -> None:
            secs = program.worker_pull.secs(size_bytes)
            worker.process.do(secs, functools.partial(self._end_pull, worker))

        shard.do(program.shard_pull.secs(size_bytes), answer)

    def _end_pull(self, worker: _Worker) -> None:
        worker.num_missing -= 1
        if worker.num_missing:
            return
        self._counts.pull_secs.append(self._clock.now_secs - worker.called_secs)
        secs = self._draw(worker.group.gradient_secs)
        then = self._push if worker.group.pushes else self._act
        worker.process.do(secs, functools.partial(then, worker))

    def _push(self, worker: _Worker) -> None:
        worker.called_secs = self._clock.now_secs
        worker.num_missing = self._program.num_shards
        secs = self._program.worker_push.secs(self._program.part_bytes)
        for index in range(self._program.num_shards):
            worker.process.do(secs, functools.partial(self._send_part, worker, index))

    def _send_part(self, worker: _Worker, index: int) -> None:
        program, shard = self._program, self._shards[index]
        size_bytes = program.part_bytes

        def arrive() -> None:
            shard.do(program.shard_push.secs(size_bytes), judge)

        def judge() -> None:
            self._judge(self._versions[index] - worker.versions[index], index)
            end = functools.partial(self._end_push, worker)
            self._network.send(shard, worker.process, 0, end)

        self._network.send(worker.process, shard, size_bytes, arrive)

    def _judge(self, staleness_updates: int, index: int) -> None:
        limit = self._program.max_staleness_updates
        self._counts.pushes += 1
        if limit is None or staleness_updates <= limit:
            self._versions[index] += 1
            self._counts.updates += 1
            self._counts.staleness_updates += staleness_updates

    def _end_push(self, worker: _Worker) -> None:
        worker.num_missing -= 1
        if not worker.num_missing:
            self._counts.push_secs.append(self._clock.now_secs - worker.called_secs)
            self._act(worker)
