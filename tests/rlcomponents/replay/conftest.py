"""A small environment in data, and replays that close with their test."""

import contextlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import reverb
from dm_env import specs as dm_env_specs

from rlcomponents import pulse, specs
from rlcomponents.replay import limits as replay_limits
from rlcomponents.replay import servers, tables

NUM_FRAMES = 3


@pytest.fixture
def make_spec():
    """Makes an environment spec around an observation spec; default: small stacks."""

    def make(observations=None, num_actions=4):
        if observations is None:
            observations = specs.FrameStack((2, 2, NUM_FRAMES), np.uint8, 0, 255)
        return specs.EnvironmentSpec(
            observations=observations,
            actions=dm_env_specs.DiscreteArray(num_actions),
            rewards=dm_env_specs.Array((), np.float32),
            discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
        )

    return make


@pytest.fixture
def resources():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def make_replay(resources, tmp_path_factory):
    """Starts a replay server; `once=True` gives each item once, oldest first."""

    def make(spec, *, once=False, folder=None, **limits):
        values = {"max_items": 10_000, "min_items": 1, "batch_size": 1} | limits
        [table] = tables.make_tables(spec, replay_limits.ReplayLimits(**values))
        if once:
            table = table.replace(sampler=reverb.selectors.Fifo(), max_times_sampled=1)
        replay = servers.LocalReplay(
            [table], folder=folder or tmp_path_factory.mktemp("saved")
        )
        resources.callback(replay.close)
        return replay

    return make


@pytest.fixture
def drain():
    """Takes all items out of a replay made with `once=True`, as dicts of arrays."""

    def take(replay):
        client = reverb.Client(replay.address)
        samples = client.sample(
            tables.TABLE,
            replay.num_items,
            emit_timesteps=False,
            unpack_as_table_signature=True,
        )
        return [sample.data for sample in samples]

    return take


@pytest.fixture
def serve_elsewhere(resources):
    """Starts a server in a process of its own, ready to be killed.

    Its items are those of `make_spec(SCALAR)`: `num_items` of one value.
    """

    def serve(port, *, value=0.0, num_items=0, **settings):
        process = subprocess.Popen(
            [
                sys.executable,
                pathlib.Path(__file__).with_name("replay_process.py"),
                json.dumps(
                    {"port": port, "value": value, "num_items": num_items} | settings
                ),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        resources.callback(process.wait)
        resources.callback(process.kill)
        assert process.stdout.readline() == "ready\n"
        return process

    return serve


@pytest.fixture
def said(resources):
    """The pulse of this process; `lines` are what was said to the user."""
    lines = []
    noted = pulse.Pulse(say=lines.append)
    noted.lines = lines
    resources.callback(pulse.use_in_this_process, pulse.current())
    pulse.use_in_this_process(noted)
    return noted
