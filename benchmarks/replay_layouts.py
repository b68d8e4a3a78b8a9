"""Two ways to keep transitions in Reverb: single frames, and Acme's whole stacks."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import reverb
from acme.adders import reverb as acme_reverb

from rlcomponents import specs
from rlcomponents.replay import adders, batches, limits, tables

BATCH_SIZE = 32
MAX_ITEMS = 100_000
LIMITS = limits.ReplayLimits(max_items=MAX_ITEMS, min_items=1, batch_size=BATCH_SIZE)


class Layout(NamedTuple):
    """One way to keep transitions.

    Attributes:
        name: Of it.
        make_tables: From the environment's spec.
        make_adder: From a server's address and the environment's spec.
        make_reader: The same, for batches; has `next_batch(timeout_secs)`.
    """

    name: str
    make_tables: Callable[[specs.EnvironmentSpec], list[reverb.Table]]
    make_adder: Callable[[str, specs.EnvironmentSpec], Any]
    make_reader: Callable[[str, specs.EnvironmentSpec], Any]


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
            max_size=MAX_ITEMS,
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
    "our frames",
    _make_frame_tables,
    functools.partial(adders.TransitionAdder, num_steps=1, discount=0.99),
    lambda address, spec: batches.ReplayBatches([address], spec, batch_size=BATCH_SIZE),
)
STACKS = Layout("Acme's stacks", _make_stack_tables, _make_stack_adder, _StackReader)
LAYOUTS = {layout.name: layout for layout in (FRAMES, STACKS)}
