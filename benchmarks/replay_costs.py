"""What a transition costs in a replay: bytes, memory, time. All on the same steps."""

import contextlib
import functools
import math
import multiprocessing
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import dm_env
import numpy as np
import portpicker
import proxy
import replay_layouts
import reverb
import tensorflow as tf
import tree
from reverb.cc import schema_pb2

from rlcomponents import specs
from rlcomponents.environments import registry
from rlcomponents.replay import adders, memory, servers

NUM_STEPS = 1_500  # Of Pong, recorded once.
REPEATS = 3  # Of the recording, for memory and speed.
NUM_BATCHES = 150

Costs = dict[str, float]
"""By name: bytes of a transition, or transitions a second."""

Steps = list[tuple[np.int32 | None, dm_env.TimeStep]]
"""Each time step, and the action before it; None before the first of an episode."""


def of_memory() -> Costs:
    """Returns what `MemoryReplay` costs, in this process."""
    spec, steps = record()
    replay = memory.MemoryReplay(
        spec,
        replay_layouts.LIMITS,
        num_steps=1,
        discount=0.99,
        rng=np.random.default_rng(0),
    )
    costs = _costs(replay, lambda: replay, steps)
    with tempfile.TemporaryFile() as file:
        replay.write(file)
        costs["checkpoint bytes"] = file.tell() / replay.num_items
    frame_bytes = math.prod(spec.observations.shape[:-1])
    num_frames = REPEATS * len(steps)
    costs["frame bytes before compression"] = (
        frame_bytes * num_frames / replay.num_items
    )
    return costs


def of_reverb_here(layout_name: str) -> Costs:
    """Returns what a layout costs in a Reverb server in this process."""
    layout = replay_layouts.LAYOUTS[layout_name]
    spec, steps = record()
    with tempfile.TemporaryDirectory() as folder:
        server = servers.make_server(layout.make_tables(spec), checkpoint_dir=folder)
        address = f"localhost:{server.port}"
        costs = _costs(
            layout.make_adder(address, spec),
            functools.partial(layout.make_reader, address, spec),
            steps,
        )
        costs |= _checkpoint(address, REPEATS * NUM_STEPS)
        server.stop()
    return costs


def of_reverb_apart(layout_name: str) -> Costs:
    """Returns what a layout costs in a Reverb server in a process of its own."""
    layout = replay_layouts.LAYOUTS[layout_name]
    spec, steps = record()
    costs: Costs = {}
    with _server(layout_name, spec) as (address, pid):
        with proxy.counting(address) as (proxy_address, counts):
            _play(layout.make_adder(proxy_address, spec), steps)
            costs["wire bytes, in"] = counts["to_server"] / NUM_STEPS
            costs |= _checkpoint(address, NUM_STEPS)
            with contextlib.closing(layout.make_reader(proxy_address, spec)) as reader:
                before = counts["to_client"]
                num_drawn = _draw(reader)
                costs["wire bytes, out"] = (counts["to_client"] - before) / num_drawn
        return costs | _costs(
            layout.make_adder(address, spec),
            functools.partial(layout.make_reader, address, spec),
            steps,
            pid,
        )


@functools.cache
def record() -> tuple[specs.EnvironmentSpec, Steps]:
    """Plays Pong with random actions; the last step is a truncation."""
    environment = registry.make_factory("atari:pong")(0)
    spec = specs.make_environment_spec(environment)
    rng = np.random.default_rng(0)
    timestep = environment.reset()
    steps: Steps = [(None, timestep)]
    for step in range(NUM_STEPS):
        if timestep.last():
            timestep = environment.reset()
            steps.append((None, timestep))
        action = np.int32(rng.integers(spec.actions.num_values))
        timestep = environment.step(action)
        if step == NUM_STEPS - 1:
            timestep = timestep._replace(step_type=dm_env.StepType.LAST)
        steps.append((action, timestep))
    environment.close()
    return spec, steps


def _costs(
    adder: Any, make_reader: Callable[[], Any], steps: Steps, pid: int | None = None
) -> Costs:
    """Measures memory, and speed in and out.

    Args:
        adder: Takes the steps.
        make_reader: Makes what gives batches.
        steps: Added some times over.
        pid: Of the server. None: it is in this process.
    """
    memory_before = _resident_bytes(pid)
    with _stopwatch(pid) as adding:
        for _ in range(REPEATS):
            _play(adder, steps)
    num_added = REPEATS * NUM_STEPS
    memory_bytes = (_resident_bytes(pid) - memory_before) / num_added
    with contextlib.closing(make_reader()) as reader:
        reader.next_batch(60.0)
        with _stopwatch(pid) as drawing:
            num_drawn = _draw(reader)
    return {
        "memory bytes": memory_bytes,
        "items/s, in": num_added / adding["wall"],
        "items/s, out": num_drawn / drawing["wall"],
        "items/CPU s, in": num_added / adding["cpu"],
        "items/CPU s, out": num_drawn / drawing["cpu"],
    }


def _play(adder: Any, steps: Steps) -> None:
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
    return NUM_BATCHES * replay_layouts.BATCH_SIZE


def _checkpoint(address: str, num_items: int) -> Costs:
    """Lets a server save what it holds; returns bytes of a transition.

    Chunks are in a checkpoint once each, so that their frames can be counted.
    """
    path = pathlib.Path(reverb.Client(address).checkpoint())
    num_bytes = sum(file.stat().st_size for file in path.iterdir())
    num_frame_bytes = 0
    for file in path.glob("chunks.tfrecord*"):
        for chunk in tf.data.TFRecordDataset(str(file), compression_type="ZLIB"):
            [tensor] = schema_pb2.ChunkData.FromString(chunk.numpy()).data.tensors
            if tensor.dtype == tf.uint8.as_datatype_enum:
                shape = [dimension.size for dimension in tensor.tensor_shape.dim]
                num_frame_bytes += int(np.prod(shape))
    shutil.rmtree(path)
    return {
        "checkpoint bytes": num_bytes / num_items,
        "frame bytes before compression": num_frame_bytes / num_items,
    }


def _resident_bytes(pid: int | None) -> int:
    statm = pathlib.Path(f"/proc/{pid or os.getpid()}/statm").read_text()
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _stopwatch(pid: int | None) -> Iterator[dict[str, float]]:
    """Times what is inside: wall seconds, and CPU seconds of client and server."""

    def cpu_secs() -> float:
        return time.process_time() + (0.0 if pid is None else _cpu_secs(pid))

    taken: dict[str, float] = {}
    wall, cpu = time.perf_counter(), cpu_secs()
    yield taken
    taken["wall"] = time.perf_counter() - wall
    taken["cpu"] = cpu_secs() - cpu


def _cpu_secs(pid: int) -> float:
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _server(layout_name: str, spec: specs.EnvironmentSpec) -> Iterator[tuple[str, int]]:
    """Serves a layout's tables; gives address and process."""
    port = portpicker.pick_unused_port()
    with tempfile.TemporaryDirectory() as checkpoint_dir:
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(layout_name, spec, port, checkpoint_dir), daemon=True
        )
        process.start()
        try:
            reverb.Client(f"localhost:{port}").server_info(60)
            yield f"localhost:{port}", process.pid or 0
        finally:
            process.kill()
            process.join()


def _serve(
    layout_name: str, spec: specs.EnvironmentSpec, port: int, checkpoint_dir: str
) -> None:
    served = replay_layouts.LAYOUTS[layout_name].make_tables(spec)
    servers.make_server(served, port, checkpoint_dir=checkpoint_dir).wait()
