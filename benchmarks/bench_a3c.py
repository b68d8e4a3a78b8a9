"""Measures A3C on Pong against PFRL's A3C and Stable-Baselines3's A2C.

Ours is the launch script as users run it: two workers on Hogwild! parameters, with the
evaluator (which only waits), the coordinator and the files that belong to a run. PFRL's
is its `train_agent_async` on two processes. Stable-Baselines3 steps 16 environments, in
one process (with as many threads as PyTorch takes by itself, and with one) or in 16.
The goals hold against the fastest of these.

All have the network of 2013 (16 and 32 filters, 256 units), t_max 5, 84x84 grey frames,
pooled over 2 of 4 and stacked by 4, clipped rewards, no sticky actions, and the same
optimiser; none evaluates. Starting and warming up do not count.

    python benchmarks/bench_a3c.py         (about five minutes)
"""

import contenders
import measuring

ENVS_PER_WORKER = (1, 4, 8, 16)
FLAGS = {
    "environment": "atari:pong",
    "num_workers": 2,
    "t_max_steps": 5,
    "evaluation_period_steps": 50_000_000,
}
PFRL = "PFRL's A3C"
SB3 = {
    "SB3's A2C, in one process": ("--vectorisation=dummy",),
    "SB3's A2C, in one process, 1 thread": ("--vectorisation=dummy", "--threads=1"),
    "SB3's A2C, a process a game": ("--vectorisation=subproc",),
}


def main() -> None:
    """Prints agent steps a second, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=5)
    report = measuring.Report("a3c", options)
    print("A3C on Pong, 2 processes")
    # Quick: one of each kind.
    numbers = ENVS_PER_WORKER[:: 3 if options.quick else 1]
    sb3 = dict(list(SB3.items())[: 1 if options.quick else None])
    with contenders.Arena(secs=4.0 if options.quick else 8.0) as arena:
        for number in numbers:
            arena.add_ours(
                _ours(number),
                "launch/a3c.py",
                {**FLAGS, "envs_per_worker": number},
                workers="worker",
                num_workers=2,
            )
        arena.add_program(PFRL, contenders.peer("pfrl-a3c"), num_workers=2)
        for name, flags in sb3.items():
            arena.add_program(name, contenders.peer("sb3-a2c", *flags))
        rounds = arena.rounds(options.rounds)
    steps = {name: [r.steps_per_sec for r in each] for name, each in rounds.items()}
    for name, each in steps.items():
        report.number(name, each, "agent steps/s")
    for name, each in rounds.items():
        per_cpu_sec = [rates.steps_per_cpu_sec for rates in each]
        report.number(f"{name}, by CPU time", per_cpu_sec, "agent steps/CPU s")
    several = measuring.best(steps, map(_ours, numbers[1:]))
    peer = measuring.best(steps, (PFRL, *sb3))
    for ours, goal in ((_ours(1), 1.5), (several, 3.0)):
        for name in (PFRL, *sb3):
            report.ratio(
                f"{ours} / {name}",
                measuring.ratios(steps[ours], steps[name]),
                at_least=goal if name == peer else None,
            )
    report.write()


def _ours(envs_per_worker: int) -> str:
    return f"ours, {envs_per_worker} a worker"


if __name__ == "__main__":
    main()
