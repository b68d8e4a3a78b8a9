"""A store to which a worker pushes finished steps, made with statistics of its own."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from rlcomponents import core
from rlcomponents.parameters import gradients, saved_states, update_rules
from rlcomponents.parameters import layout as layouts


class PrivateStatisticsStore(core.ParameterStore):
    """Makes gradients into steps on their way to another store. Thread-safe.

    One per worker, before any kind of store, which must be under `SGD`: it has the
    parameters, the learning-rate schedule and the counts; this has the statistics of
    the update rule, which no other worker sees. They take in every gradient that is
    pushed, also one that the store discards.

    Attributes:
        layout: Of the network whose parameters these are.

    Reference:
        Mnih et al. 2016, supplement section 7 (momentum SGD and RMSProp with
        statistics per thread); https://arxiv.org/abs/1602.01783.
    """

    def __init__(
        self,
        store: core.ParameterStore,
        layout: layouts.ParameterLayout,
        rule: update_rules.UpdateRule,
        *,
        max_gradient_norm: float | None = None,
    ) -> None:
        """Makes the statistics.

        Args:
            store: Where steps go, without a `max_gradient_norm` of its own: that would
                clip steps.
            layout: Of the store.
            rule: Any whose step is proportional to the learning rate.
            max_gradient_norm: Longer gradients are scaled to this Euclidean norm, as
                a whole. None: never.

        Raises:
            ValueError: A norm that is not positive.
        """
        gradients.check_max_norm(max_gradient_norm)
        self.layout = layout
        self._store = store
        self._max_gradient_norm = max_gradient_norm
        self._statistics = update_rules.PrivateStatistics(rule, layout.num_parameters)
        self._lock = threading.Lock()

    def initialise(self, vector: np.ndarray) -> bool:
        """See `core.ParameterStore`."""
        return self._store.initialise(vector)

    def pull(self, *, target: bool = False) -> core.Snapshot:
        """See `core.ParameterStore`."""
        return self._store.pull(target=target)

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`. Clips the gradient, not the step."""
        gradient = gradients.check_and_clip(
            gradient, self.layout, self._max_gradient_norm
        )
        with self._lock:
            step = self._statistics.step(gradient)
        return self._store.push(step, versions, steps)

    def save(self) -> dict[str, np.ndarray]:
        """Returns a copy of the worker's own statistics, and nothing of the store."""
        with self._lock:
            return saved_states.save_slots(self._statistics.state)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Goes on with statistics that were saved.

        Raises:
            ValueError: They are of another rule or layout; nothing has changed.
        """
        with self._lock:
            self._statistics.state = saved_states.read_slots(
                state, self._statistics.rule, self.layout.num_parameters
            )

    def add_steps(self, steps: int) -> int:
        """See `core.ParameterStore`."""
        return self._store.add_steps(steps)

    def statistics(self) -> core.StoreStatistics:
        """See `core.ParameterStore`."""
        return self._store.statistics()

    def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
        """See `acme.core.VariableSource`."""
        return self._store.get_variables(names)
