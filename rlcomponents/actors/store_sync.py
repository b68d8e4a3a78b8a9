"""Keeps a network's parameters as fresh as agreed, and the store's step count true."""

from rlcomponents import core
from rlcomponents.parameters import tf_variables


class StoreSync:
    """Pulls parameters every so many agent steps, and counts those steps at the store.

    For actors and evaluators, which push no gradients. Not thread-safe.

    Attributes:
        snapshot: What the last pull returned.
    """

    def __init__(
        self,
        store: core.ParameterStore,
        variables: tf_variables.FlatVariables,
        *,
        period_steps: int,
    ) -> None:
        """Offers the variables' values as initial parameters, and pulls once.

        Args:
            store: Where parameters come from.
            variables: Where they go.
            period_steps: Agent steps from one pull to the next.
        """
        self._store = store
        self._variables = variables
        self._period_steps = period_steps
        self._uncounted_steps = 0
        store.initialise(variables.vector())
        self.pull()

    def step(self) -> None:
        """Notes one agent step; counts and pulls when the period is over."""
        self._uncounted_steps += 1
        if self._uncounted_steps >= self._period_steps:
            self._store.add_steps(self._uncounted_steps)
            self._uncounted_steps = 0
            self.pull()

    def pull(self) -> core.Snapshot:
        """Pulls now, and leaves the steps noted so far to be counted in their turn."""
        self.snapshot = self._store.pull()
        self._variables.assign(self.snapshot.vector)
        return self.snapshot
