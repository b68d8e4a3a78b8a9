"""Keeps a network's parameters as fresh as agreed, and the store's step count true."""

from rlcomponents import core
from rlcomponents.parameters import tf_variables


class StoreSync:
    """Pulls parameters every so many agent steps, and counts those steps at the store.

    For actors and evaluators, which push no gradients. Not thread-safe.
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
        self._steps_since_pull = 0
        store.initialise(variables.vector())
        self.pull()

    def step(self) -> None:
        """Notes one agent step; counts and pulls when the period is over."""
        self._steps_since_pull += 1
        if self._steps_since_pull >= self._period_steps:
            self._store.add_steps(self._steps_since_pull)
            self.pull()

    def pull(self) -> core.Snapshot:
        """Pulls now. The steps noted so far are forgotten unless `step` sent them."""
        self._steps_since_pull = 0
        self.snapshot = self._store.pull()
        self._variables.assign(self.snapshot.vector)
        return self.snapshot
