"""The steps of an actor, checked, and cut into n-step items: what all adders share."""

from collections.abc import Callable, Sized
from typing import Any, NamedTuple

import dm_env
import numpy as np
import tree

from rlcomponents import specs, states
from rlcomponents.replay import layout as replay_layout
from rlcomponents.replay import n_step, transitions


class Step(NamedTuple):
    """A step that was accepted.

    Attributes:
        leaves: Of the observation after it; see `ObservationLayout.leaves`.
        items: That end in this observation, oldest first.
    """

    leaves: list[np.ndarray]
    items: list[n_step.NStepItem]


class EpisodeSteps:
    """Takes episodes step by step, and refuses what must not be stored.

    Attributes:
        layout: Of the observations.
        num_steps: Steps that an item spans, n.
        in_episode: Whether `next` may be called.
    """

    def __init__(
        self,
        environment_spec: specs.EnvironmentSpec,
        *,
        num_steps: int,
        discount: float,
        max_abs_reward: float | None,
    ) -> None:
        """Starts without an episode.

        Args:
            environment_spec: Of the environment.
            num_steps: See `NStepReturns` for this and the next two.
            discount: gamma per agent step.
            max_abs_reward: Or None.

        Raises:
            ValueError: A setting outside its range, or actions that cannot be stored.
        """
        transitions.check_action_spec(environment_spec.actions)
        self.layout = replay_layout.ObservationLayout(environment_spec.observations)
        self.num_steps = num_steps
        self.in_episode = False
        self._returns = n_step.NStepReturns(num_steps, discount, max_abs_reward)
        self._settings = [num_steps, discount, max_abs_reward]
        self._episode = 0
        self._step = 0

    def first(self, timestep: dm_env.TimeStep) -> list[np.ndarray]:
        """Begins an episode; returns the leaves of its first observation.

        Raises:
            ValueError: Not a FIRST step, or an observation that cannot be stored.
        """
        if not timestep.first():
            raise ValueError(
                f"add_first was given a {timestep.step_type!r} step: an episode begins "
                "with a FIRST one."
            )
        self.reset()
        self._episode += 1
        self._step = 0
        leaves = self._checked(self.layout.leaves, timestep.observation)
        self.in_episode = True
        return leaves

    def next(self, action: Any, next_timestep: dm_env.TimeStep, extras: Any) -> Step:
        """Takes the next step; a LAST one ends the episode.

        Raises:
            ValueError: No episode has begun, extra fields, or a value which does not
                fit its spec or is not finite.
        """
        if extras is not None and not (isinstance(extras, Sized) and len(extras) == 0):
            raise ValueError(
                "The actor adds fields that the table has no column for; expected "
                f"{', '.join(_FIELDS)}, given as well: {_field_names(extras)}."
            )
        if not self.in_episode:
            raise ValueError("add was called before add_first began an episode.")
        if next_timestep.first():
            raise ValueError(
                "add was given a FIRST step: begin the next episode with add_first."
            )
        self._step += 1
        leaves = self._checked(self.layout.leaves, next_timestep.observation)
        items = self._returns.add(
            int(action),
            self._checked(_finite, "reward", next_timestep.reward),
            self._checked(_finite, "discount", next_timestep.discount),
            last=next_timestep.last(),
        )
        self.in_episode = not next_timestep.last()
        return Step(leaves, items)

    def restart(self) -> None:
        """Goes on as if the episode, if any, began at its newest observation."""
        self._returns.reset()

    def reset(self) -> None:
        """Forgets the unfinished episode, if any."""
        self._returns.reset()
        self.in_episode = False

    def save(self) -> states.State:
        """Returns where in the episode it is."""
        return {
            "settings": self._settings,
            "in_episode": self.in_episode,
            "episode": self._episode,
            "step": self._step,
            "returns": self._returns.save(),
        }

    def restore(self, state: states.State) -> None:
        """Goes on from what `save` returned.

        Where n-step returns are other ones now, without the unfinished episode.
        """
        self.reset()
        self._episode, self._step = state["episode"], state["step"]
        if state["settings"] == self._settings:
            self.in_episode = state["in_episode"]
            self._returns.restore(state["returns"])

    def _checked(self, check: Callable[..., Any], *values: Any) -> Any:
        try:
            return check(*values)
        except ValueError as error:
            raise ValueError(
                f"Episode {self._episode}, step {self._step}: {error} "
                "Nothing of this step was stored."
            ) from error


_FIELDS = ("next_observation", "observation", "step")


def _finite(name: str, value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} is {number}.")
    return number


def _field_names(extras: Any) -> str:
    return ", ".join(
        "/".join(["extras", *map(str, path)])
        for path, _ in tree.flatten_with_path(extras)
    )
