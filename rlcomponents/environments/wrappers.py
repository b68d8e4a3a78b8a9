"""Wrappers that fit a user's environment to what agents expect.

`adapt` applies what any agent needs; the registry does so to each environment that a
user names. `FrameStack` and `StepLimit` change the task, so they are the user's choice.
Nested observations (dicts, tuples) pass through all of them.
"""

from typing import Any

import dm_env
import numpy as np
import tree
from dm_env import specs as dm_env_specs

from rlcomponents import specs, states
from rlcomponents.environments import checker, saving, time_steps


def adapt(environment: dm_env.Environment) -> dm_env.Environment:
    """Gives an environment the dtypes and the action numbering that agents expect.

    Args:
        environment: Has passed `checker.check_specs`.

    Returns:
        The environment in single precision, its discrete actions numbered from 0, its
        continuous ones clipped to their bounds.
    """
    environment = SinglePrecision(environment)
    action_spec = environment.action_spec()
    if isinstance(action_spec, dm_env_specs.DiscreteArray):
        return environment
    if _is_discrete(action_spec):
        return ActionOffset(environment)
    return ClippedActions(environment)


class EnvironmentWrapper(dm_env.Environment):
    """Passes everything on; what else an environment offers (`screen`) as well.

    A wrapper with a state of its own adds it in `save` and `restore`: see `saving`.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        """Wraps an environment, which must not be used directly any more."""
        self._environment = environment

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Also keeps unpickling from recursing.
            raise AttributeError(name)
        return getattr(self._environment, name)

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._environment.reset()

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._environment.step(action)

    def observation_spec(self) -> Any:
        """See `dm_env.Environment`."""
        return self._environment.observation_spec()

    def action_spec(self) -> Any:
        """See `dm_env.Environment`."""
        return self._environment.action_spec()

    def reward_spec(self) -> Any:
        """See `dm_env.Environment`."""
        return self._environment.reward_spec()

    def discount_spec(self) -> Any:
        """See `dm_env.Environment`."""
        return self._environment.discount_spec()

    def close(self) -> None:
        """See `dm_env.Environment`."""
        self._environment.close()

    def save(self) -> states.State | None:
        """See `saving`; None where the environment inside cannot save itself."""
        return saving.save(self._environment)

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        saving.restore(self._environment, state)


class SinglePrecision(EnvironmentWrapper):
    """Turns float64 observations, and rewards and discounts of any type, into float32.

    Each observation is a copy, so an environment may go on writing into one array.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        """Wraps an environment, whose observation spec is asked for once."""
        super().__init__(environment)
        self._observation_spec = tree.map_structure(
            lambda spec: spec.replace(dtype=_single(spec.dtype)),
            environment.observation_spec(),
        )

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._convert(self._environment.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._convert(self._environment.step(action))

    def observation_spec(self) -> Any:
        """Returns the wrapped spec with float32 for float64."""
        return self._observation_spec

    def reward_spec(self) -> dm_env_specs.Array:
        """See `time_steps.reward_spec`."""
        return time_steps.reward_spec()

    def discount_spec(self) -> dm_env_specs.BoundedArray:
        """See `time_steps.discount_spec`."""
        return time_steps.discount_spec()

    def _convert(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        observation = tree.map_structure(_single_copy, timestep.observation)
        if timestep.first():
            return timestep._replace(observation=observation)
        return timestep._replace(
            reward=np.float32(timestep.reward),
            discount=np.float32(timestep.discount),
            observation=observation,
        )


class ActionOffset(EnvironmentWrapper):
    """Numbers discrete actions from 0, whatever the environment's own numbers are.

    The agent sees 0 to n - 1; the environment receives `minimum` to `maximum`, in its
    own dtype.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        """Wraps an environment with one bounded integer as its action.

        Raises:
            ValueError: Its actions are something else.
        """
        super().__init__(environment)
        spec = environment.action_spec()
        if not _is_discrete(spec):
            raise ValueError(
                f"ActionOffset needs one bounded integer as the action, got {spec}."
            )
        self._minimum = int(spec.minimum)
        self._num_actions = int(spec.maximum) - self._minimum + 1
        self._dtype = spec.dtype

    def step(self, action: int) -> dm_env.TimeStep:
        """Steps with the environment's own number of the action.

        Raises:
            ValueError: No such action.
        """
        checker.check_action(action, self._num_actions)
        return self._environment.step(self._dtype.type(self._minimum + int(action)))

    @property
    def null_action(self) -> int | None:
        """The agent's number of the environment's null action, if it has one."""
        action = getattr(self._environment, "null_action", None)
        return None if action is None else int(action) - self._minimum

    def action_spec(self) -> dm_env_specs.DiscreteArray:
        """Returns the spec of `[]` int32 in [0, n)."""
        return dm_env_specs.DiscreteArray(self._num_actions, np.int32, "action")


class ClippedActions(EnvironmentWrapper):
    """Takes any vector of floats; the environment gets the nearest one in its bounds.

    A Gaussian policy draws from everywhere, and learns from the action as it was drawn.
    Bounds are as before, but for float32, and the environment receives its own dtype.
    """

    def __init__(self, environment: dm_env.Environment) -> None:
        """Wraps an environment with bounded floats as its action.

        Raises:
            ValueError: Its actions are something else.
        """
        super().__init__(environment)
        spec = environment.action_spec()
        if not isinstance(spec, dm_env_specs.BoundedArray) or not np.issubdtype(
            spec.dtype, np.floating
        ):
            raise ValueError(f"ClippedActions needs bounded floats, got {spec}.")
        self._inner_spec = spec
        self._spec = spec.replace(dtype=_single(spec.dtype))

    def step(self, action: np.ndarray) -> dm_env.TimeStep:
        """Steps with the nearest action in the bounds.

        Raises:
            ValueError: It has another shape, or is not a number.
        """
        spec = self._inner_spec
        action = np.asarray(action, spec.dtype)
        if action.shape != spec.shape or np.isnan(action).any():
            raise ValueError(
                f"Action {action} does not exist: this environment's actions are "
                f"numbers of shape {spec.shape}."
            )
        return self._environment.step(np.clip(action, spec.minimum, spec.maximum))

    def action_spec(self) -> dm_env_specs.BoundedArray:
        """Returns the spec with float32 for float64."""
        return self._spec


class FrameStack(EnvironmentWrapper):
    """Stacks the last frames of an environment whose observation is one frame.

    Frames may be vectors, `[height, width]` or `[height, width, 1]` images. The stack
    is the last axis, newest last; at each FIRST step it holds copies of that frame.
    """

    def __init__(self, environment: dm_env.Environment, num_frames: int) -> None:
        """Wraps an environment.

        Args:
            environment: Its observation is one array.
            num_frames: Frames in a stack; 1 only gives an image its channel axis.

        Raises:
            ValueError: The observation cannot be stacked.
        """
        super().__init__(environment)
        frame = environment.observation_spec()
        if not isinstance(frame, dm_env_specs.Array):
            raise ValueError(
                f"FrameStack needs one array as the observation, got {frame}."
            )
        shape = frame.shape[:-1] if _has_one_channel(frame) else frame.shape
        if len(shape) not in (1, 2):
            raise ValueError(
                "FrameStack takes vectors and images of one channel, got an "
                f"observation of shape {frame.shape}: turn it into luminance first."
            )
        minimum, maximum = (
            # Bounds of each element get the new axis, a bound of all stays as it is.
            bound if np.ndim(bound) == 0 else np.reshape(bound, (*shape, 1))
            for bound in _bounds(frame)
        )
        self._frame_shape = shape
        self._spec = specs.FrameStack(
            (*shape, num_frames),
            frame.dtype,
            minimum,
            maximum,
            frame.name,
        )
        self._stack = np.zeros(self._spec.shape, frame.dtype)

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._push(self._environment.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        return self._push(self._environment.step(action))

    def observation_spec(self) -> specs.FrameStack:
        """Returns the spec of the stack."""
        return self._spec

    def save(self) -> states.State | None:
        """See `saving`; None where the environment inside cannot save itself."""
        inside = super().save()
        if inside is None:
            return None
        return {"environment": inside, "stack": self._stack.copy()}

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        if state["stack"].shape != self._stack.shape:
            raise ValueError(f"its stack has shape {state['stack'].shape}")
        super().restore(state["environment"])
        self._stack = state["stack"].copy()

    def _push(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        frame = np.reshape(timestep.observation, (*self._frame_shape, 1))
        if timestep.first():
            self._stack = np.repeat(frame, self._spec.num_frames, axis=-1)
        else:
            self._stack = np.concatenate([self._stack[..., 1:], frame], axis=-1)
        return timestep._replace(observation=self._stack)


class StepLimit(EnvironmentWrapper):
    """Cuts episodes after a number of steps: LAST, with the discount as it was.

    The last observation is the environment's real one, so that what is learnt from the
    last step does not lead into the next episode.
    """

    def __init__(
        self,
        environment: dm_env.Environment,
        max_steps: int,
        *,
        first_max_steps: int | None = None,
    ) -> None:
        """Wraps an environment.

        Args:
            environment: Any environment.
            max_steps: Agent steps after which an episode is cut.
            first_max_steps: The same of the first episode, so that environments side
                by side are not all cut at once. None: as the others.

        Raises:
            ValueError: A limit is less than 1.
        """
        super().__init__(environment)
        if first_max_steps is None:
            first_max_steps = max_steps
        if min(max_steps, first_max_steps) < 1:
            raise ValueError(
                f"max_steps is {max_steps} and first_max_steps {first_max_steps}; both "
                "must be at least 1."
            )
        self._max_steps = max_steps
        self._limit_steps = first_max_steps  # Of this episode.
        self._steps = 0
        self._cut = False

    @property
    def game_over(self) -> bool:
        """Whether the last step ended the game: a cut does."""
        return self._cut or getattr(self._environment, "game_over", True)

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        self._steps = 0
        self._cut = False
        return self._environment.reset()

    def step(self, action: Any) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        if self._cut:
            return self.reset()
        timestep = self._environment.step(action)
        if timestep.first():
            self._steps = 0
            return timestep
        self._steps += 1
        if self._steps >= self._limit_steps and not timestep.last():
            self._cut = True
            timestep = timestep._replace(step_type=dm_env.StepType.LAST)
        if timestep.last():
            self._limit_steps = self._max_steps
        return timestep

    def save(self) -> states.State | None:
        """See `saving`; None where the environment inside cannot save itself."""
        inside = super().save()
        if inside is None:
            return None
        return {
            "environment": inside,
            "steps": self._steps,
            "limit_steps": self._limit_steps,
            "cut": self._cut,
        }

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        super().restore(state["environment"])
        self._steps = state["steps"]
        self._limit_steps = state["limit_steps"]
        self._cut = state["cut"]


def _is_discrete(spec: Any) -> bool:
    return (
        isinstance(spec, dm_env_specs.BoundedArray)
        and spec.shape == ()
        and np.issubdtype(spec.dtype, np.integer)
    )


def _has_one_channel(spec: dm_env_specs.Array) -> bool:
    return len(spec.shape) == 3 and spec.shape[-1] == 1


def _bounds(spec: dm_env_specs.Array) -> tuple[Any, Any]:
    """Returns the bounds of a spec, or the widest of its dtype."""
    if isinstance(spec, dm_env_specs.BoundedArray):
        return spec.minimum, spec.maximum
    if np.issubdtype(spec.dtype, np.floating):
        return -np.inf, np.inf
    return np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max


def _single(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype == np.float64 else dtype


def _single_copy(value: Any) -> np.ndarray:
    value = np.asarray(value)
    return np.array(value, _single(value.dtype))
