"""Takes one asynchronous worker apart: what a step on Pong costs, and where it goes.

One worker alone, of the settings that `launch/a3c.py` has, with its parts timed from
outside:

    acting       the network's forward pass, and drawing actions
    environment  emulator, preprocessing, stack, batching, checks
    copying      parameters in: pull and assign
    gradient     forward and backward over the rollout, and back to NumPy
    update       the store's part: check, clip, RMSProp
    rest         the loop, rollout arrays, reports

The floor beside it is the least that the work can cost: the emulator alone (four frames
and the two screens that are pooled), and the network's multiplications and additions at
the rate at which this machine multiplies large square matrices; small layers never come
to that. It is the same however many environments there are.

All of it in CPU time of the process, which computes on one thread and waits for nobody:
on a quiet machine that is wall time, and on a busy one it still means something.

    python benchmarks/bench_breakdown.py         (about a minute)
"""

import functools
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

from rlcomponents.launching import placement

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# One thread, as a node of a program. Before NumPy and TensorFlow are loaded.
os.environ.update(placement.variables(["worker"])["worker"])

import ale_py
import measuring
import numpy as np
import tensorflow as tf
from ale_py import roms

from agents import run_config
from agents.a3c import config as a3c_config
from agents.a3c import strategy as strategies
from agents.asynchronous import tf_nodes
from rlcomponents import environment_batch
from rlcomponents.parameters import shared_memory, shared_memory_store, tf_variables
from rlcomponents.runs import run_folder

ENVS_PER_WORKER = (1, 16)
PARTS = ("acting", "environment", "copying", "gradient", "update")
T_MAX_STEPS = 5
FRAMES_PER_STEP = 4
EMULATOR_STEPS = 500
GOAL = 1.6

# The network of 2013 as matrix products, [M, K] x [K, N] for one observation: 20x20 and
# 9x9 positions of the convolutions, then dense layers; the last is six actions and V.
LAYERS = (
    (20 * 20, 8 * 8 * 4, 16),
    (9 * 9, 4 * 4 * 16, 32),
    (1, 2592, 256),
    (1, 256, 7),
)
FORWARD_FLOPS = [2 * rows * inputs * outputs for rows, inputs, outputs in LAYERS]
# Forward, and backward to weights and inputs; nobody asks for that of the observation.
GRADIENT_FLOPS = 3 * sum(FORWARD_FLOPS) - FORWARD_FLOPS[0]
GEMM_SIZE = 1_024


class Stopwatch:
    """Adds up the time spent in methods, by part."""

    def __init__(self) -> None:
        """Starts at 0."""
        self.secs = dict.fromkeys(PARTS, 0.0)

    def time(self, part: str, owner: type, *names: str) -> None:
        """Times each call of some methods of a class from now on."""
        for name in names:
            setattr(owner, name, self._timed(part, getattr(owner, name)))

    def _timed(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.secs[part] += time.process_time() - start

        return timed


class Worker:
    """A worker of a real run, without the program around it."""

    def __init__(
        self, folder: pathlib.Path, envs_per_worker: int, stopwatch: Stopwatch
    ) -> None:
        """Builds the worker, and lets it trace its functions."""
        run_folder.RunFolder.create(folder)
        self._config = run_config.make_config(
            a3c_config.A3CConfig,
            {"environment": "atari:pong", "envs_per_worker": envs_per_worker},
        )
        self._stopwatch = stopwatch
        self._worker = tf_nodes.make_worker(
            self._config,
            str(folder),
            0,
            shared_memory.SharedMemory.create(),
            strategies.make_strategy,
            lambda timeout_secs: False,
        )
        for _ in range(5):
            self._worker.step()

    def measure(self, secs: float) -> dict[str, float]:
        """Returns milliseconds an agent step, by part and as a whole."""
        before = dict(self._stopwatch.secs)
        start = time.process_time()
        num_rollouts = 0
        while time.process_time() < start + secs:
            self._worker.step()
            num_rollouts += 1
        taken = time.process_time() - start
        # A few of a single environment's rollouts end early, with a game.
        steps = num_rollouts * self._config.t_max_steps * self._config.envs_per_worker
        costs = {
            part: 1e3 * (after - before[part]) / steps
            for part, after in self._stopwatch.secs.items()
        }
        total = 1e3 * taken / steps
        return {**costs, "rest": total - sum(costs.values()), "total": total}


class Floor:
    """The least that a step can cost, measured beside the workers."""

    def __init__(self) -> None:
        """Starts an emulator, and makes a matrix."""
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._emulator = ale_py.ALEInterface()
        self._emulator.loadROM(roms.get_rom_path("pong"))
        self._actions = self._emulator.getMinimalActionSet()
        self._matrix = tf.ones([GEMM_SIZE, GEMM_SIZE])
        self._screens = np.zeros((2, *self._emulator.getScreenDims()), np.uint8)

    def measure(self) -> dict[str, float]:
        """Returns milliseconds an agent step, by part and as a whole."""
        ms_per_flop = self._gemm_ms() / (2 * GEMM_SIZE**3)
        costs = {
            "emulator": self._emulator_ms(),
            "acting": ms_per_flop * sum(FORWARD_FLOPS),
            "gradient": ms_per_flop * GRADIENT_FLOPS,
        }
        return {**costs, "total": sum(costs.values())}

    def _emulator_ms(self) -> float:
        start = time.process_time()
        for step in range(EMULATOR_STEPS):
            action = self._actions[step // 8 % len(self._actions)]
            for frame in range(FRAMES_PER_STEP):
                self._emulator.act(action)
                if frame >= FRAMES_PER_STEP - 2:
                    self._emulator.getScreenGrayscale(self._screens[frame % 2])
            if self._emulator.game_over():
                self._emulator.reset_game()
        return 1e3 * (time.process_time() - start) / EMULATOR_STEPS

    def _gemm_ms(self) -> float:
        multiply = functools.partial(tf.matmul, self._matrix, self._matrix)
        return 1e3 * measuring.fastest_secs(multiply, repeats=5)


def main() -> None:
    """Prints milliseconds a step, by part, and the ratio to the floor."""
    options = measuring.parse_options(__doc__, rounds=7)
    report = measuring.Report("breakdown", options)
    stopwatch = Stopwatch()
    stopwatch.time("acting", strategies.A3CStrategy, "act", "value")
    stopwatch.time("environment", environment_batch.EnvironmentBatch, "observe", "step")
    stopwatch.time("copying", shared_memory_store.SharedMemoryStore, "pull")
    stopwatch.time("copying", tf_variables.FlatVariables, "assign")
    stopwatch.time("gradient", strategies.A3CStrategy, "gradient")
    stopwatch.time("update", shared_memory_store.SharedMemoryStore, "push")
    floor = Floor()
    costs: dict[int, list[dict[str, float]]] = {n: [] for n in ENVS_PER_WORKER}
    floors: dict[int, list[dict[str, float]]] = {n: [] for n in ENVS_PER_WORKER}
    with tempfile.TemporaryDirectory(prefix="rlcomponents-bench-") as folder:
        workers = {
            number: Worker(pathlib.Path(folder, f"run-{number}"), number, stopwatch)
            for number in ENVS_PER_WORKER
        }
        for _ in range(options.rounds):
            for number, worker in workers.items():
                costs[number].append(worker.measure(1.0 if options.quick else 3.0))
                floors[number].append(floor.measure())
    for number in ENVS_PER_WORKER:
        print(f"A3C on Pong, one worker, {number} environments")
        for name in costs[number][0]:
            values = [cost[name] for cost in costs[number]]
            report.number(f"{number} environments: {name}", values, "ms/step")
        for name in floors[number][0]:
            values = [cost[name] for cost in floors[number]]
            report.number(f"{number} environments, floor: {name}", values, "ms/step")
        report.ratio(
            f"{number} environments / floor",
            measuring.ratios(
                [cost["total"] for cost in costs[number]],
                [cost["total"] for cost in floors[number]],
            ),
            at_most=GOAL if number > 1 else None,
        )
    report.write()


if __name__ == "__main__":
    main()
