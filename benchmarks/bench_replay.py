"""Measures what a transition of Atari costs in replay: bytes, memory, items a second.

Against whole stacks, as Acme's `NStepTransitionAdder` sends them to Reverb, on the same
steps of Pong, twice:

    in one process   as `agents/dqn` and the bundles of Gorila have it: `MemoryReplay`,
                     their default, against Acme's adder and a Reverb server in the same
                     process, as Acme's DQN has them. Nothing goes over a wire. Beside
                     them our own layout in Reverb (`--replay=reverb`).
    on a server      as Gorila's central mode has it: our layout in Reverb (single
                     frames, stacked again when sampled) against Acme's, in a server of
                     its own process, over the network.

Measured of a transition:

    wire             bytes through a proxy between client and server
    memory           growth of the process that holds it
    checkpoint       bytes on disk, as each writes them
    frame bytes      of what is held, before compression: Reverb compresses, and screens
                     of Pong to a tenth and less, whole stacks still better than single
                     frames; `MemoryReplay` keeps them as they are
    items/s          by the clock and by CPU time (client and server together), in
                     (adding, until the server has confirmed) and out (batches of 32,
                     as tensors)

    python benchmarks/bench_replay.py         (about two minutes)
"""

import functools
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent import futures

from rlcomponents.launching import placement

# Of all contenders: as in the processes of a program, which keep freed memory.
os.environ.update(placement.variables(["bundle"])["bundle"])
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measuring
import replay_costs
import replay_layouts

MEMORY = "memory"
FRAMES, STACKS = replay_layouts.LAYOUTS
GOALS = {
    "wire bytes, in": 3.0,
    "wire bytes, out": 3.0,
    "memory bytes": 3.0,
    "checkpoint bytes": 3.0,
    "frame bytes before compression": 3.0,
    "items/s, in": 1.3,
    "items/s, out": 2.0,
}


def main() -> None:
    """Prints what a transition costs, each way."""
    options = measuring.parse_options(__doc__, rounds=3)
    report = measuring.Report("replay", options)
    print(f"{replay_costs.NUM_STEPS} steps of Pong, batches of 32")
    print("In one process: MemoryReplay, the default of DQN and of Gorila's bundles")
    here = _measure(
        {
            MEMORY: replay_costs.of_memory,
            FRAMES: functools.partial(replay_costs.of_reverb_here, FRAMES),
            STACKS: functools.partial(replay_costs.of_reverb_here, STACKS),
        },
        options.rounds,
    )
    _report(report, "in one process", here, MEMORY)
    print("On a server: Reverb, as Gorila's central mode has it")
    apart = _measure(
        {
            layout: functools.partial(replay_costs.of_reverb_apart, layout)
            for layout in (FRAMES, STACKS)
        },
        options.rounds,
    )
    _report(report, "on a server", apart, FRAMES)
    report.write()


def _measure(
    measures: dict[str, Callable[[], replay_costs.Costs]], rounds: int
) -> dict[str, list[replay_costs.Costs]]:
    """Measures each once a round, in a process of its own: nobody else's memory."""
    found: dict[str, list[replay_costs.Costs]] = {name: [] for name in measures}
    context = multiprocessing.get_context("spawn")
    for _ in range(rounds):
        for name, measure in measures.items():
            with futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                found[name].append(pool.submit(measure).result())
    return found


def _report(
    report: measuring.Report,
    where: str,
    found: dict[str, list[replay_costs.Costs]],
    ours: str,
) -> None:
    """Reports all costs, and how many times better ours are than Acme's."""
    for what in found[STACKS][0]:
        unit = "items/s" if what.startswith("items") else "a transition"
        values = {name: [each[what] for each in found[name]] for name in found}
        for name, each in values.items():
            report.number(f"{where}: {name}, {what}", each, unit)
        report.ratio(
            f"{where}: {ours} against {STACKS}, {what}",
            _times_better(what, values[ours], values[STACKS]),
            at_least=GOALS.get(what),
        )


def _times_better(
    what: str, ours: Sequence[float], theirs: Sequence[float]
) -> list[float]:
    """Returns how many times more items a second, or fewer bytes."""
    if what.startswith("items"):
        return measuring.ratios(ours, theirs)
    return measuring.ratios(theirs, ours)


if __name__ == "__main__":
    main()
