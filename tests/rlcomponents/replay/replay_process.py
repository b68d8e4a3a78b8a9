"""A replay server to be killed or stopped, run by the tests as a process of its own.

Its settings come as JSON: `port`; `num_items` items of observation and next observation
`value`; further ones go to `ReplayLimits`.
"""

import json
import sys

import dm_env
import numpy as np
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.replay import adders, limits, servers, tables


def main() -> None:
    """Serves until killed."""
    settings = json.loads(sys.argv[1])
    port, value = settings.pop("port"), settings.pop("value")
    num_items = settings.pop("num_items")
    spec = specs.EnvironmentSpec(
        observations=dm_env_specs.Array((), np.float32),
        actions=dm_env_specs.DiscreteArray(4),
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )
    values = {"max_items": 1000, "min_items": 1, "batch_size": 4} | settings
    server = servers.make_server(
        tables.make_tables(spec, limits.ReplayLimits(**values)), port
    )
    adder = adders.TransitionAdder(f"localhost:{port}", spec, num_steps=1, discount=0.5)
    adder.add_first(dm_env.restart(np.float32(value)))
    for _ in range(num_items):
        adder.add(0, dm_env.transition(0.0, np.float32(value)))
    adder.flush()
    adder.close()
    print("ready", flush=True)
    server.wait()


if __name__ == "__main__":
    main()
