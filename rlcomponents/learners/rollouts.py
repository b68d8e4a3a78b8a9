"""Rollouts: a few steps of a few environments, from which one gradient is computed."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from rlcomponents import environment_batch, returns
from rlcomponents import environment_loop as loops


class Rollout(NamedTuple):
    """T steps of N environments, time first. An episode may end and another begin.

    Attributes:
        observation: `[T, N, ...]`, acted on.
        is_first: `[T, N]` bool, where an episode begins.
        action: `[T, N]` int32 or `[T, N, D]` float32.
        reward: `[T, N]` float32, clipped and scaled.
        discount: `[T, N]` float32, gamma times the environment's: 0 at terminations.
        last: `[T, N]` bool, where the step ended an episode.
        next_observation: `[T, N, ...]`, after the step; the episode's last one where
            `last`.
        next_action: `[N]` or `[N, D]`, taken after the rollout. None: not chosen yet.
        state: Of a recurrent policy before the first step.
        bootstrap: `[T, N]` float32, value of `next_observation` where the rollout
            leaves an episode: at `last`, and in the last row unless the next action
            stands for what follows. 0 elsewhere, and at terminations.
    """

    observation: np.ndarray
    is_first: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    discount: np.ndarray
    last: np.ndarray
    next_observation: np.ndarray
    next_action: np.ndarray | None
    state: Any
    bootstrap: np.ndarray

    def n_step_returns(self) -> np.ndarray:
        """Returns `[T, N]` float32: the longest return there is for each step.

            R_t = r_t + d_t R_{t+1}     within an episode
            R_t = r_t + d_t V(s')       where the rollout leaves it

        Reference:
            Mnih et al. 2016, Algorithms S2 and S3: https://arxiv.org/abs/1602.01783.
        """
        leaves = self.last.copy()
        leaves[-1] = True
        reward = self.reward + np.where(leaves, self.discount * self.bootstrap, 0.0)
        discount = np.where(leaves, 0.0, self.discount)
        return returns.n_step_return(reward, discount, np.zeros_like(reward[-1]))


class Collected(NamedTuple):
    """What came of playing a rollout.

    Attributes:
        rollout: None where it was discarded whole: something in it was not finite, or
            the program is to stop.
        episodes: The games that ended.
        steps: Agent steps taken, of all environments, discarded ones included.
    """

    rollout: Rollout | None
    episodes: tuple[loops.EpisodeEnd, ...]
    steps: int


class Policy(Protocol):
    """What a rollout needs of whoever acts."""

    def initial_state(self, num_environments: int) -> Any:
        """Returns the state before the first step; `()` without memory."""

    def act(
        self, observation: np.ndarray, is_first: np.ndarray, state: Any
    ) -> tuple[np.ndarray, Any]:
        """Chooses actions `[N, ...]`; returns them and the state after them."""

    def value(self, observation: np.ndarray, state: Any) -> np.ndarray:
        """Returns `[N]` float32, what to bootstrap from; zeros where nothing is."""


class RolloutCollector:
    """Plays rollouts in a batch of environments. Not thread-safe."""

    def __init__(
        self,
        environments: environment_batch.EnvironmentBatch,
        policy: Policy,
        *,
        max_steps: int,
        discount: float,
        max_abs_reward: float | None,
        should_stop: Callable[[], bool] = lambda: False,
        reward_scale: float = 1.0,
    ) -> None:
        """Stores its parts.

        Args:
            environments: Stepped as one.
            policy: Acts in all of them.
            max_steps: t_max. With a single environment a rollout also ends where an
                episode does, as in the paper; with several it goes on with the next.
            discount: gamma per agent step.
            max_abs_reward: Each reward is clipped to this size. None: not.
            should_stop: Asked before each step; True ends the rollout, and discards it:
                a whole episode may take longer than a stop may.
            reward_scale: Each reward is multiplied by this, after clipping.

        Raises:
            ValueError: `max_steps` is below 1.
        """
        if max_steps < 1:
            raise ValueError(f"max_steps is {max_steps}: a rollout needs at least 1.")
        self._environments = environments
        self._policy = policy
        self._max_steps = max_steps
        self._discount = discount
        self._max_abs_reward = max_abs_reward
        self._should_stop = should_stop
        self._reward_scale = reward_scale
        self._state = policy.initial_state(len(environments))
        self._chosen: tuple[np.ndarray, Any] | None = None  # For the next step.

    def collect(self, *, keep_next_action: bool) -> Collected:
        """Plays one rollout; ends it, and discards it, where a step is not finite.

        Args:
            keep_next_action: Whether the action after the rollout is chosen now, by the
                policy as it is, and really taken next (Sarsa).

        Returns:
            The rollout, and the games that ended in it. After a discarded one the
            environments to blame begin anew, and the others go on, with the state that
            the policy has then.

        Raises:
            finite.NonFiniteError: Too many episodes in a row were not finite.
        """
        state = self._state
        rows: list[dict[str, np.ndarray]] = []
        episodes: list[loops.EpisodeEnd] = []
        single = len(self._environments) == 1
        while len(rows) < self._max_steps:
            if self._should_stop():
                num_steps = len(rows) * len(self._environments)
                return Collected(None, tuple(episodes), num_steps)
            observation, is_first = self._environments.observe()
            action, self._state = self._act(observation, is_first)
            step = self._environments.step(action)
            episodes += step.episodes
            if isinstance(step, environment_batch.BrokenStep):
                num_steps = (len(rows) + 1) * len(self._environments)
                return Collected(None, tuple(episodes), num_steps)
            reward = step.reward
            if self._max_abs_reward is not None:
                reward = np.clip(reward, -self._max_abs_reward, self._max_abs_reward)
            reward = reward * self._reward_scale
            discount = self._discount * step.discount
            is_end = len(rows) + 1 == self._max_steps or (single and step.last[0])
            # A terminal state is worth nothing: of episodes' ends only truncations ask.
            leaves = step.last | (is_end and not keep_next_action)
            asked = leaves & (discount > 0.0)
            bootstrap = np.zeros_like(reward)
            if asked.any():
                values = self._policy.value(step.observation, self._state)
                bootstrap = np.where(asked, values, 0.0).astype(np.float32)
            rows.append(
                {
                    "observation": observation,
                    "is_first": is_first,
                    "action": action,
                    "reward": reward,
                    "discount": discount.astype(np.float32),
                    "last": step.last,
                    "next_observation": step.observation,
                    "bootstrap": bootstrap,
                }
            )
            if is_end:
                break
        columns = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        next_action = None
        if keep_next_action:
            self._chosen = self._choose(*self._environments.observe())
            next_action = self._chosen[0]
        rollout = Rollout(next_action=next_action, state=state, **columns)
        return Collected(rollout, tuple(episodes), rollout.reward.size)

    def _act(
        self, observation: np.ndarray, is_first: np.ndarray
    ) -> tuple[np.ndarray, Any]:
        chosen, self._chosen = self._chosen, None
        return chosen or self._choose(observation, is_first)

    def _choose(
        self, observation: np.ndarray, is_first: np.ndarray
    ) -> tuple[np.ndarray, Any]:
        return self._policy.act(observation, is_first, self._state)
