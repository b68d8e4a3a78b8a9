"""The loop of a worker: step until the budget is spent or a stop is asked for."""

from collections.abc import Callable

from acme import core as acme_core

from rlcomponents import core, pulse
from rlcomponents.runs import node_state

# A request to end that comes as an exception is only noticed between waits.
_IDLE_SECS = 1.0


class SteppedWorker(acme_core.Worker):
    """Steps a component over and over.

    When all actors together have taken their steps, it waits for the stop, so that
    the parameters stand still while the last evaluation is played. Where a parameter
    shard dies meanwhile, and comes back with fewer steps, the work goes on: else there
    would never be a last evaluation.

    Attributes:
        step: Takes one step by hand, as tests do; returns the agent steps of all
            actors.
    """

    def __init__(
        self,
        step: Callable[[], int],
        *,
        count_steps: Callable[[], int],
        max_steps: int,
        wait_for_stop: core.WaitForStop,
        close: Callable[[], None],
        state: node_state.NodeState | None = None,
    ) -> None:
        """Stores its parts.

        Args:
            step: Does one step of the work, reports it, and notes in the pulse that
                it is done; returns the agent steps of all actors together, as far as
                it knows.
            count_steps: Asks the store for those steps; called once a second while
                there is no work.
            max_steps: Agent steps after which there is no work left.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
            close: Called once at the end, whatever it is.
            state: Saved now and then, and when the work is over. None: nothing is.
        """
        self.step = step
        self._count_steps = count_steps
        self._max_steps = max_steps
        self._wait_for_stop = wait_for_stop
        self._close = close
        self._state = state

    def run(self) -> None:
        """Steps until the end."""
        try:
            try:
                while self._work() and self._rest():
                    pass
            except core.StoreUnavailableError:
                # A store waits for shards that are away until a stop is asked for.
                if not self._wait_for_stop(0):
                    raise
            self._save(ended=True)
        finally:
            self._close()

    def _work(self) -> bool:
        """Steps; returns whether the budget is spent, False where a stop came first."""
        with pulse.current().stepping():
            while not self._wait_for_stop(0):
                agent_steps = self.step()
                if self._state is not None:
                    self._state.save_if_due(agent_steps)
                if agent_steps >= self._max_steps:
                    self._save(ended=True)
                    return True
        return False

    def _rest(self) -> bool:
        """Waits; returns whether there is work again, False where a stop came first."""
        while not self._wait_for_stop(_IDLE_SECS):
            if self._count_steps() < self._max_steps:
                self._save(ended=False)
                return True
        return False

    def _save(self, *, ended: bool) -> None:
        if self._state is not None:
            self._state.save(ended=ended)
