"""Measures what a transition of Atari costs in replay: bytes, memory, items a second.

Compares our layout (single frames, stacked again when sampled) with whole stacks as
Acme's `NStepTransitionAdder` sends them, on the same steps of Pong. The server runs in
a process of its own, so that its memory is nobody else's; all goes over the network.

    frames   in the chunks of a checkpoint, which holds each chunk once: exact
    wire     bytes through a proxy between client and server
    memory   growth of the server's resident set
    CPU      of client and server together, restacking included

Then our two replays inside one process, as DQN has one: Reverb's, and the one in plain
memory, which keeps frames as they are and is the same in each run of a seed.

Run: python benchmarks/bench_replay.py (about two minutes).
"""

import contextlib
import functools
import glob
import multiprocessing
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import dm_env
import measuring
import numpy as np
import portpicker
import reverb
import tensorflow as tf
import tree
from acme.adders import reverb as acme_reverb
from reverb.cc import schema_pb2

from rlcomponents import specs
from rlcomponents.environments import registry
from rlcomponents.replay import adders, batches, limits, memory, servers, tables

NUM_STEPS = 1_500  # Of Pong, recorded once.
REPEATS = 3  # Of the recording, for memory and speed.
BATCH_SIZE = 32
NUM_BATCHES = 150
FRAME_BYTES = 84 * 84
MAX_FRAMES = 1.3  # A transition, sent and kept.
GOALS = {
    "wire bytes, inserted": 3.0,
    "server memory, bytes": 3.0,
    "frame bytes before compression": 3.0,
    "microseconds, inserted": 1.3,
    "microseconds, sampled": 2.0,
}
LIMITS = limits.ReplayLimits(max_items=100_000, min_items=1, batch_size=BATCH_SIZE)

Step = tuple[np.int32 | None, dm_env.TimeStep]


class Layout(NamedTuple):
    """One way to keep transitions."""

    name: str
    make_tables: Callable[[specs.EnvironmentSpec], list[reverb.Table]]
    make_adder: Callable[[str, specs.EnvironmentSpec], Any]
    make_reader: Callable[[str, specs.EnvironmentSpec], Any]


def main() -> None:
    """Prints what a transition costs, both ways."""
    options = measuring.parse_options(__doc__, rounds=3)
    report = measuring.Report("replay", options)
    environment = registry.make_factory("atari:pong")(0)
    spec = specs.make_environment_spec(environment)
    steps = list(_record(environment, spec))
    print(f"{NUM_STEPS} steps of Pong, one-step transitions, batches of {BATCH_SIZE}")
    frames, stacks, in_memory, on_reverb = [], [], [], []
    for _ in range(options.rounds):
        frames.append(_measure(FRAMES, spec, steps))
        stacks.append(_measure(STACKS, spec, steps))
        in_memory.append(_measure_memory(spec, steps))
        on_reverb.append(_measure_reverb(spec, steps))
    _compare(report, "frames", frames, "stacks", stacks, GOALS)
    print("In one process")
    _compare(report, "memory", in_memory, "Reverb", on_reverb, {})
    kept = max(frames[0]["frames kept"], in_memory[0]["memory, bytes"] / FRAME_BYTES)
    report.ratio("frames kept of a transition", kept, at_most=MAX_FRAMES)
    report.write()


def _compare(
    report: measuring.Report,
    name: str,
    ours: list[dict[str, float]],
    other_name: str,
    theirs: list[dict[str, float]],
    goals: Mapping[str, float],
) -> None:
    """Reports what a transition costs, and how many times that it costs the other."""
    for what in ours[0]:
        values = [each[what] for each in ours]
        others = [each[what] for each in theirs]
        report.number(f"{name}, {what}", values, "a transition")
        report.number(f"{other_name}, {what}", others, "a transition")
        report.ratio(
            f"{other_name} / {name}, {what}",
            measuring.ratios(others, values),
            at_least=goals.get(what),
        )


def _measure(
    layout: Layout, spec: specs.EnvironmentSpec, steps: list[Step]
) -> dict[str, float]:
    with _server(layout, spec) as (address, pid):
        with _proxy(address) as (proxy_address, counts):
            _insert(layout, proxy_address, spec, steps)
            bytes_in = counts["to_server"] / NUM_STEPS
            frames = _frames_kept(address) / NUM_STEPS
            with contextlib.closing(layout.make_reader(proxy_address, spec)) as reader:
                before = counts["to_client"]
                num_drawn = _draw(reader)
                bytes_out = (counts["to_client"] - before) / num_drawn
        memory_before = _resident_bytes(pid)
        with _stopwatch(pid) as inserting:
            for _ in range(REPEATS):
                _insert(layout, address, spec, steps)
        num_inserted = REPEATS * NUM_STEPS
        memory = (_resident_bytes(pid) - memory_before) / num_inserted
        with contextlib.closing(layout.make_reader(address, spec)) as reader:
            reader.next_batch(60.0)
            with _stopwatch(pid) as sampling:
                num_sampled = _draw(reader)
    return {
        "frames kept": frames,
        "frame bytes before compression": frames * FRAME_BYTES,
        "wire bytes, inserted": bytes_in,
        "wire bytes, sampled": bytes_out,
        "server memory, bytes": memory,
        "CPU microseconds, inserted": 1e6 * inserting["cpu"] / num_inserted,
        "CPU microseconds, sampled": 1e6 * sampling["cpu"] / num_sampled,
        "microseconds, inserted": 1e6 * inserting["wall"] / num_inserted,
        "microseconds, sampled": 1e6 * sampling["wall"] / num_sampled,
    }


def _measure_memory(spec: specs.EnvironmentSpec, steps: list[Step]) -> dict[str, float]:
    replay = memory.MemoryReplay(
        spec, LIMITS, num_steps=1, discount=0.99, rng=np.random.default_rng(0)
    )
    return _measure_in_process(replay, replay, steps)


def _measure_reverb(spec: specs.EnvironmentSpec, steps: list[Step]) -> dict[str, float]:
    replay = servers.LocalReplay(tables.make_tables(spec, LIMITS))
    with contextlib.closing(FRAMES.make_adder(replay.address, spec)) as adder:
        reader = FRAMES.make_reader(replay.address, spec)
        with contextlib.closing(replay), contextlib.closing(reader):
            return _measure_in_process(adder, reader, steps)


def _measure_in_process(adder: Any, reader: Any, steps: list[Step]) -> dict[str, float]:
    memory_before = _resident_bytes(os.getpid())
    with _stopwatch() as inserting:
        for _ in range(REPEATS):
            _play(adder, steps)
    num_inserted = REPEATS * NUM_STEPS
    kept = (_resident_bytes(os.getpid()) - memory_before) / num_inserted
    reader.next_batch(60.0)
    with _stopwatch() as sampling:
        num_sampled = _draw(reader)
    return {
        "memory, bytes": kept,
        "CPU microseconds, inserted": 1e6 * inserting["cpu"] / num_inserted,
        "CPU microseconds, sampled": 1e6 * sampling["cpu"] / num_sampled,
        "microseconds, inserted": 1e6 * inserting["wall"] / num_inserted,
        "microseconds, sampled": 1e6 * sampling["wall"] / num_sampled,
    }


def _record(
    environment: dm_env.Environment, spec: specs.EnvironmentSpec
) -> Iterator[Step]:
    """Yields steps with the action before each; the last one is a truncation."""
    rng = np.random.default_rng(0)
    timestep = environment.reset()
    yield None, timestep
    for step in range(NUM_STEPS):
        if timestep.last():
            timestep = environment.reset()
            yield None, timestep
        action = np.int32(rng.integers(spec.actions.num_values))
        timestep = environment.step(action)
        if step == NUM_STEPS - 1:
            timestep = timestep._replace(step_type=dm_env.StepType.LAST)
        yield action, timestep


def _insert(
    layout: Layout, address: str, spec: specs.EnvironmentSpec, steps: list[Step]
) -> None:
    _play(layout.make_adder(address, spec), steps)


def _play(adder: Any, steps: list[Step]) -> None:
    for action, timestep in steps:
        if action is None:
            adder.add_first(timestep)
        else:
            adder.add(action, timestep)
    # Both have ended an episode, and Acme's has waited for the server by itself.
    if isinstance(adder, adders.TransitionAdder):
        adder.flush()


def _draw(reader: Any) -> int:
    """Draws batches; returns how many items that was."""
    for _ in range(NUM_BATCHES):
        tree.map_structure(tf.convert_to_tensor, reader.next_batch(60.0))
    return NUM_BATCHES * BATCH_SIZE


def _frames_kept(address: str) -> int:
    path = reverb.Client(address).checkpoint()
    frames = 0
    for file in glob.glob(f"{path}/chunks.tfrecord*"):
        for record in tf.data.TFRecordDataset(file, compression_type="ZLIB"):
            [tensor] = schema_pb2.ChunkData.FromString(record.numpy()).data.tensors
            if tensor.dtype == tf.uint8.as_datatype_enum:
                shape = [dimension.size for dimension in tensor.tensor_shape.dim]
                frames += int(np.prod(shape)) // FRAME_BYTES
    shutil.rmtree(path)
    return frames


def _resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _stopwatch(pid: int | None = None) -> Iterator[dict[str, float]]:
    """Times what is inside: wall seconds, and CPU seconds of client and server."""

    def cpu_secs() -> float:
        return time.process_time() + (0.0 if pid is None else _cpu_secs(pid))

    taken: dict[str, float] = {}
    wall, cpu = time.perf_counter(), cpu_secs()
    yield taken
    taken["wall"] = time.perf_counter() - wall
    taken["cpu"] = cpu_secs() - cpu


def _cpu_secs(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _server(layout: Layout, spec: specs.EnvironmentSpec) -> Iterator[tuple[str, int]]:
    port = portpicker.pick_unused_port()
    with tempfile.TemporaryDirectory() as checkpoint_dir:
        process = multiprocessing.get_context("spawn").Process(
            target=_serve,
            args=(layout.make_tables, spec, port, checkpoint_dir),
            daemon=True,
        )
        process.start()
        try:
            reverb.Client(f"localhost:{port}").server_info(60)
            yield f"localhost:{port}", process.pid or 0
        finally:
            process.kill()
            process.join()


def _serve(
    make_tables: Callable[[specs.EnvironmentSpec], list[reverb.Table]],
    spec: specs.EnvironmentSpec,
    port: int,
    checkpoint_dir: str,
) -> None:
    served = make_tables(spec)
    servers.make_server(served, port, checkpoint_dir=checkpoint_dir).wait()


@contextlib.contextmanager
def _proxy(address: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Passes on what is sent to its own address, and counts it."""
    counts = {"to_server": 0, "to_client": 0}
    host, port = address.split(":")
    listener = socket.create_server(("localhost", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):  # The listener is closed at the end.
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((host, int(port)))
                for ends in (
                    (client, server, "to_server"),
                    (server, client, "to_client"),
                ):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    def carry(source: socket.socket, sink: socket.socket, way: str) -> None:
        with contextlib.suppress(OSError):  # One end hangs up; so does the other.
            while chunk := source.recv(1 << 16):
                sink.sendall(chunk)
                counts[way] += len(chunk)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"localhost:{listener.getsockname()[1]}", counts
    finally:
        listener.close()


class _AcmeClient:
    """Takes an argument that Acme 0.2.4 gives and Reverb 0.11 no longer knows."""

    def __init__(self, address: str) -> None:
        self._client = reverb.Client(address)

    def trajectory_writer(
        self, num_keep_alive_refs: int, get_signature_timeout_ms: int
    ) -> reverb.TrajectoryWriter:
        del get_signature_timeout_ms
        return self._client.trajectory_writer(num_keep_alive_refs)


class _StackReader:
    """Reads whole stacks, with the settings of `ReplayBatches`."""

    def __init__(self, address: str, spec: specs.EnvironmentSpec) -> None:
        del spec
        dataset = reverb.TrajectoryDataset.from_table_signature(
            address,
            acme_reverb.DEFAULT_PRIORITY_TABLE,
            max_in_flight_samples_per_worker=BATCH_SIZE,
            num_workers_per_iterator=1,
        )
        self._batches = iter(dataset.batch(BATCH_SIZE, drop_remainder=True))

    def next_batch(self, timeout_secs: float) -> Any:
        """Returns a batch, however long it takes."""
        del timeout_secs
        return next(self._batches)

    def close(self) -> None:
        """Ends the stream."""
        del self._batches


def _make_stack_tables(spec: specs.EnvironmentSpec) -> list[reverb.Table]:
    return [
        reverb.Table(
            acme_reverb.DEFAULT_PRIORITY_TABLE,
            reverb.selectors.Uniform(),
            reverb.selectors.Fifo(),
            max_size=100_000,
            rate_limiter=reverb.rate_limiters.MinSize(1),
            signature=acme_reverb.NStepTransitionAdder.signature(spec),
        )
    ]


def _make_stack_adder(address: str, spec: specs.EnvironmentSpec) -> Any:
    del spec
    return acme_reverb.NStepTransitionAdder(
        _AcmeClient(address), n_step=1, discount=0.99, max_in_flight_items=16
    )


def _make_frame_tables(spec: specs.EnvironmentSpec) -> list[reverb.Table]:
    return tables.make_tables(spec, LIMITS)


FRAMES = Layout(
    "frames",
    _make_frame_tables,
    functools.partial(adders.TransitionAdder, num_steps=1, discount=0.99),
    lambda address, spec: batches.ReplayBatches([address], spec, batch_size=BATCH_SIZE),
)
STACKS = Layout("stacks", _make_stack_tables, _make_stack_adder, _StackReader)


if __name__ == "__main__":
    main()
