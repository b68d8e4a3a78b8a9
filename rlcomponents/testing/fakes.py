"""Stand-ins for what surrounds a component: a game, a store, a clock, a stop, a report.

Small, exact, and without threads, so that a test can say what must come out to the
digit. The stand-in for replay is `fake_replay`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dm_env
import numpy as np
from dm_env import specs

from rlcomponents import core
from rlcomponents.environments import checker, time_steps


class ScriptedGame(dm_env.Environment):
    """Plays the same game again and again: lives, each a sequence of rewards.

    As on Atari, a reset after a lost life goes on with the game, any other one starts a
    new game. Observations are `[game, life, step]` float32, each counted from 0.

    Attributes:
        game_over: Whether the last step ended the game, and not just a life.
        actions: All that were taken.
    """

    def __init__(
        self,
        lives: Sequence[Sequence[float]],
        *,
        num_actions: int = 2,
        truncated: bool = False,
    ) -> None:
        """Stores the script.

        Args:
            lives: Rewards of each life, one an agent step.
            num_actions: Number of actions; none of them matters.
            truncated: Whether games end by a limit, with discount 1.
        """
        self.game_over = False
        self.actions: list[int] = []
        self._lives = lives
        self._num_actions = num_actions
        self._truncated = truncated
        self._game, self._life, self._step = -1, 0, 0
        self._life_lost = False
        self._reset_next_step = True

    def reset(self) -> dm_env.TimeStep:
        """Starts the next life or the next game."""
        if self._life_lost:
            self._life += 1
        else:
            self._game, self._life = self._game + 1, 0
        self._step, self._life_lost, self.game_over = 0, False, False
        self._reset_next_step = False
        return dm_env.restart(self._observation())

    def step(self, action: int) -> dm_env.TimeStep:
        """Gives the next reward, whatever the action."""
        if self._reset_next_step:
            return self.reset()
        checker.check_action(action, self._num_actions)
        self.actions.append(int(action))
        rewards = self._lives[self._life]
        reward = rewards[self._step]
        self._step += 1
        if self._step < len(rewards):
            return time_steps.transition(reward, self._observation())
        self._reset_next_step = True
        self._life_lost = self._life < len(self._lives) - 1
        self.game_over = not self._life_lost
        if self.game_over and self._truncated:
            return time_steps.truncation(reward, self._observation())
        return time_steps.termination(reward, self._observation())

    def observation_spec(self) -> specs.Array:
        """Returns the spec of `[game, life, step]` float32."""
        return specs.Array((3,), np.float32, "place")

    def action_spec(self) -> specs.DiscreteArray:
        """Returns the spec of `[]` int32 in [0, num_actions)."""
        return specs.DiscreteArray(self._num_actions, np.int32, "action")

    def reward_spec(self) -> specs.Array:
        """See `time_steps.reward_spec`."""
        return time_steps.reward_spec()

    def discount_spec(self) -> specs.BoundedArray:
        """See `time_steps.discount_spec`."""
        return time_steps.discount_spec()

    def _observation(self) -> np.ndarray:
        return np.array([self._game, self._life, self._step], np.float32)


class FaultyGame(ScriptedGame):
    """A scripted game, some of whose time steps are not what they should be."""

    def __init__(
        self,
        lives: Sequence[Sequence[float]],
        faults: Mapping[tuple[int, int, int], Mapping[str, Any]],
        **settings: Any,
    ) -> None:
        """Stores the script.

        Args:
            lives: See `ScriptedGame`.
            faults: By game, life and step (0 is a reset): fields of the time step, and
                what they are instead.
            **settings: See `ScriptedGame`.
        """
        super().__init__(lives, **settings)
        self._faults = faults

    def reset(self) -> dm_env.TimeStep:
        """See `ScriptedGame`."""
        return self._spoil(super().reset())

    def step(self, action: int) -> dm_env.TimeStep:
        """See `ScriptedGame`."""
        return self._spoil(super().step(action))

    def _spoil(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        place = (self._game, self._life, self._step)
        return timestep._replace(**self._faults.get(place, {}))


class RecordingStore(core.ParameterStore):
    """Passes every call on to another store, and notes what came.

    Attributes:
        counted: `("push", steps)` and `("add_steps", steps)`, in order.
        pushed: The gradients, in order.
        num_target_pulls: How often the target copy was asked for.
    """

    def __init__(
        self,
        store: core.ParameterStore,
        *,
        before_push: Callable[[], None] = lambda: None,
    ) -> None:
        """Stores its parts.

        Args:
            store: Does the work.
            before_push: Called before each push is passed on: a place for what others
                do between a worker's pull and its push.
        """
        self.counted: list[tuple[str, int]] = []
        self.pushed: list[np.ndarray] = []
        self.num_target_pulls = 0
        self._store = store
        self._before_push = before_push

    def initialise(self, vector: np.ndarray) -> bool:
        """See `core.ParameterStore`."""
        return self._store.initialise(vector)

    def pull(self, *, target: bool = False) -> core.Snapshot:
        """See `core.ParameterStore`."""
        self.num_target_pulls += target
        return self._store.pull(target=target)

    def push(
        self, gradient: np.ndarray, versions: Sequence[core.Version], steps: int
    ) -> core.PushResult:
        """See `core.ParameterStore`."""
        self._before_push()
        self.counted.append(("push", steps))
        self.pushed.append(gradient)
        return self._store.push(gradient, versions, steps)

    def add_steps(self, steps: int) -> int:
        """See `core.ParameterStore`."""
        self.counted.append(("add_steps", steps))
        return self._store.add_steps(steps)

    def statistics(self) -> core.StoreStatistics:
        """See `core.ParameterStore`."""
        return self._store.statistics()

    def get_variables(self, names: Sequence[str]) -> list[Any]:
        """See `core.ParameterStore`."""
        return self._store.get_variables(names)


class RecordingReporter:
    """A `core.Reporter` that keeps the rows.

    Attributes:
        rows: All so far.
        closed: Whether it was closed.
    """

    def __init__(self) -> None:
        """Starts without rows."""
        self.closed = False
        self.rows: list[dict[str, float | int | str | None]] = []

    def write(self, row: dict[str, float | int | str | None]) -> bool:
        """Keeps a row."""
        self.rows.append(row)
        return True

    def close(self) -> None:
        """Notes it."""
        self.closed = True


class ManualClock:
    """A clock that stands still until it is set.

    Attributes:
        secs: What it shows.
    """

    def __init__(self, secs: float = 0.0) -> None:
        """Sets it."""
        self.secs = secs

    def __call__(self) -> float:
        """Returns what it shows."""
        return self.secs


class StopAfter:
    """A `wait_for_stop` that waits for nothing, and sees a stop at some call.

    Attributes:
        waits_secs: The time that each call so far was to wait.
    """

    def __init__(self, num_calls: int) -> None:
        """Stores how many calls see no stop yet."""
        self.waits_secs: list[float] = []
        self._num_calls = num_calls

    def __call__(self, timeout_secs: float) -> bool:
        """Returns whether a stop was asked for."""
        self.waits_secs.append(timeout_secs)
        return len(self.waits_secs) > self._num_calls
