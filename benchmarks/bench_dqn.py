"""Measures DQN and Gorila DQN on Pong against Stable-Baselines3's DQN.

First whole programs, as users run them: Gorila with two bundles (replay in memory, as
by default, and on Reverb), DQN in its one process, and Stable-Baselines3's DQN, with as
many threads as PyTorch takes by itself, and with one. All learn on 32 transitions every
4 steps, with Nature's network, 10,000 transitions in replay and epsilon 0.1; none
evaluates. The goal is that of our best against their best.

Then the learner alone, in one thread: `DQNLearner.step`, which draws a batch, pulls,
computes the gradient, judges and pushes it, against a bare loop of its own gradient
function on batches that lie ready. With DQN's parts (replay and store in memory) and
with those of Gorila's central mode (Reverb and a parameter shard, each in a process of
its own).

    python benchmarks/bench_dqn.py         (about four minutes)
"""

import contextlib
import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator

from rlcomponents.launching import placement

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# One thread, as a node of a program. Before NumPy and TensorFlow are loaded.
os.environ.update(placement.variables(["learner"])["learner"])

import contenders
import courier
import measuring
import numpy as np
import portpicker
from launchpad.nodes.courier import courier_utils

from agents import optimisation
from agents.dqn import config as dqn_config
from agents.dqn import parts, replays
from rlcomponents import core, specs
from rlcomponents.learners import dqn
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, shard, sharded_client, tf_variables
from rlcomponents.replay import batches, memory, servers, tables, transitions

REPLAY_ITEMS = 10_000
FLAGS = {
    "environment": "atari:pong",
    "max_replay_items": REPLAY_ITEMS,
    "min_replay_items": 1_000,
    "initial_epsilon": 0.1,
    "final_epsilon": 0.1,
    "replay_checkpoint_period_secs": "none",
    "evaluation_period_steps": 40_000_000,
}
GORILA = {replay: f"Gorila, 2 bundles, {replay}" for replay in ("memory", "reverb")}
DQN = "DQN, 1 process"
SB3 = {"SB3's DQN, own threads": (), "SB3's DQN, 1 thread": ("--threads=1",)}
CONFIG = dqn_config.DQNConfig(
    environment="atari:pong", max_replay_items=REPLAY_ITEMS, min_replay_items=1_000
)
NUM_READY_BATCHES = 16

MakeStore = Callable[[layouts.ParameterLayout], core.ParameterStore]


def main() -> None:
    """Prints steps and updates a second, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=5)
    measuring.start_as_a_node()
    report = measuring.Report("dqn", options)
    _bench_programs(report, options)
    print("DQN's learner alone, one thread, batches of 32")
    secs = 1.0 if options.quick else 4.0
    steps = record_steps()
    with in_memory(steps) as learner:
        _report_learner(report, "in memory", learner, secs, options.rounds)
    with on_servers(steps) as learner:
        _report_learner(report, "on servers", learner, secs, options.rounds)
    report.write()


def _bench_programs(report: measuring.Report, options: measuring.Options) -> None:
    print("DQN on Pong, whole programs")
    # Quick: one of each kind.
    gorila = dict(list(GORILA.items())[: 1 if options.quick else None])
    sb3 = dict(list(SB3.items())[: 1 if options.quick else None])
    with contenders.Arena(secs=4.0 if options.quick else 10.0) as arena:
        for replay, name in gorila.items():
            arena.add_ours(
                name,
                "launch/gorila_dqn.py",
                {**FLAGS, "num_bundles": 2, "replay": replay},
                workers="bundle",
                num_workers=2,
            )
        arena.add_ours(DQN, "launch/dqn.py", FLAGS, workers="dqn", num_workers=1)
        for name, flags in sb3.items():
            command = contenders.peer(
                "sb3-dqn", f"--replay_items={REPLAY_ITEMS}", *flags
            )
            arena.add_program(name, command, min_updates=1)
        rounds = arena.rounds(options.rounds)
    steps = {name: [r.steps_per_sec for r in each] for name, each in rounds.items()}
    for name, each in rounds.items():
        updates = [rates.updates_per_sec for rates in each]
        per_cpu_sec = [rates.steps_per_cpu_sec for rates in each]
        report.number(name, steps[name], "agent steps/s")
        report.number(name, updates, "updates/s")
        report.number(f"{name}, by CPU time", per_cpu_sec, "agent steps/CPU s")
    best = measuring.best(steps, gorila.values())
    peer = measuring.best(steps, sb3)
    for name in (*gorila.values(), DQN):
        report.ratio(
            f"{name} / {peer}",
            measuring.ratios(steps[name], steps[peer]),
            at_least=1.5 if name == best else None,
        )


def _report_learner(
    report: measuring.Report,
    name: str,
    learner: dqn.DQNLearner,
    secs: float,
    rounds: int,
) -> None:
    """Measures a learner beside its own gradient function on ready batches."""
    ready = [learner._batches.next_batch(60.0) for _ in range(NUM_READY_BATCHES)]
    count = 0

    def bare() -> None:
        nonlocal count
        loss, gradient = learner._gradient(ready[count % len(ready)])
        float(loss), gradient.numpy()
        count += 1

    def whole() -> None:
        if learner.step(4) is None:
            raise RuntimeError("Replay gave no batch within a second.")

    measures = {
        "learner": functools.partial(_calls_per_sec, whole, secs),
        "bare loop": functools.partial(_calls_per_sec, bare, secs),
    }
    found = measuring.interleave(measures, rounds)
    for what, each in found.items():
        report.number(f"{name}: {what}", each, "updates/s")
    report.ratio(
        f"learner {name} / bare loop",
        measuring.ratios(found["learner"], found["bare loop"]),
        at_least=0.9,
    )


def _calls_per_sec(function: Callable[[], None], secs: float) -> float:
    function()
    start = time.perf_counter()
    num_calls = 0
    while time.perf_counter() < start + secs:
        function()
        num_calls += 1
    return num_calls / (time.perf_counter() - start)


def record_steps() -> list:
    """Plays Pong with random actions; returns pairs of action and time step."""
    environment = CONFIG.make_environment_factory()(0)
    rng = np.random.default_rng(0)
    steps: list = [(None, environment.reset())]
    for _ in range(2_000):
        if steps[-1][1].last():
            steps.append((None, environment.reset()))
        action = np.int32(rng.integers(environment.action_spec().num_values))
        steps.append((action, environment.step(action)))
    environment.close()
    return steps


@contextlib.contextmanager
def in_memory(steps: list) -> Iterator[dqn.DQNLearner]:
    """Gives a learner with the replay and the store of DQN."""
    environment_spec = parts.make_environment_spec(CONFIG)
    replay = memory.MemoryReplay(
        environment_spec,
        CONFIG.replay_limits(),
        num_steps=1,
        discount=CONFIG.discount,
        max_abs_reward=CONFIG.max_abs_reward,
        rng=np.random.default_rng(0),
    )
    _fill(replay, steps)
    yield _make_learner(
        environment_spec,
        replay,
        lambda layout: local_store.LocalStore(
            layout,
            optimisation.make_update_rule(CONFIG),
            optimisation.make_learning_rate(CONFIG),
            max_staleness_updates=None,
            target_period_updates=CONFIG.target_period_updates,
        ),
    )
    replay.close()


@contextlib.contextmanager
def on_servers(steps: list) -> Iterator[dqn.DQNLearner]:
    """Gives a learner whose replay and store are servers in other processes."""
    environment_spec = parts.make_environment_spec(CONFIG)
    ports = [portpicker.pick_unused_port() for _ in range(2)]
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=serve, args=(port,), daemon=True)
        for serve, port in zip((serve_replay, serve_shard), ports, strict=True)
    ]
    for process in processes:
        process.start()
    address = f"localhost:{ports[0]}"
    client = courier.Client(f"localhost:{ports[1]}", call_timeout=60)
    try:
        adder = replays.make_adder(
            CONFIG,
            environment_spec,
            address,
            should_stop=lambda: False,
            replay="replay",
        )
        _fill(adder, steps)
        adder.flush()
        source = batches.ReplayBatches(
            [address], environment_spec, batch_size=CONFIG.batch_size
        )
        yield _make_learner(
            environment_spec,
            source,
            lambda layout: sharded_client.ShardedClient(
                layout, [client], should_stop=lambda: False
            ),
        )
        source.close()
        adder.close()
    finally:
        for process in processes:
            process.kill()
            process.join()


def serve_replay(port: int) -> None:
    """Serves an empty replay, until the process is killed."""
    environment_spec = parts.make_environment_spec(CONFIG)
    served = tables.make_tables(environment_spec, CONFIG.replay_limits())
    servers.make_server(served, port).wait()


def serve_shard(port: int) -> None:
    """Serves a parameter shard, until the process is killed."""
    made = shard.ParameterShard(
        optimisation.make_update_rule(CONFIG),
        optimisation.make_learning_rate(CONFIG),
        max_staleness_updates=None,
        target_period_updates=CONFIG.target_period_updates,
    )
    server = courier_utils.make_courier_server(made, port=port)
    server.Start()
    server.Join()


def _fill(adder: memory.MemoryReplay, steps: list) -> None:
    for action, timestep in steps:
        if action is None:
            adder.add_first(timestep)
        else:
            adder.add(action, timestep)


def _make_learner(
    environment_spec: specs.EnvironmentSpec,
    source: transitions.BatchSource,
    make_store: MakeStore,
) -> dqn.DQNLearner:
    network = parts.make_network(CONFIG, environment_spec)
    layout = tf_variables.FlatVariables(network.trainable_variables).layout
    return parts.make_learner(
        CONFIG, environment_spec, network, make_store(layout), source
    )


if __name__ == "__main__":
    main()
