"""Says in one sentence what is wrong with an environment, before agents run on it.

An environment with a fault seldom fails where the fault is: it fails in a replay
signature, in a network's shape, or as a loss that is not a number an hour later.
"""

import numbers
from typing import Any

import dm_env
import numpy as np
import tree
from dm_env import specs

_METHODS = ("reset", "step", "observation_spec", "action_spec")
_NEXT_EPISODE = "after a LAST step, step() must ignore its action and return reset()"


def check(environment: dm_env.Environment, *, steps: int = 200, seed: int = 0) -> None:
    """Plays an environment with random actions and checks all it gives.

    Args:
        environment: Left in the middle of an episode.
        steps: Agent steps to play.
        seed: Seed of the actions.

    Raises:
        ValueError: Something is wrong with the specs, or with a time step; the message
            says what, and what to do.
    """
    check_specs(environment)
    rng = np.random.default_rng(seed)
    timestep = environment.reset()
    check_timestep(environment, timestep, step=0)
    if not timestep.first():
        raise ValueError(
            f"reset() returned a time step of type {timestep.step_type.name}; it must "
            "be FIRST: return dm_env.restart(observation)."
        )
    for step in range(1, steps + 1):
        previous = timestep
        kept = tree.map_structure(np.copy, previous.observation)
        action = _random_action(environment.action_spec(), rng)
        try:
            timestep = environment.step(action)
        except Exception as error:
            if not previous.last():
                raise
            raise ValueError(
                f"step() at step {step}, after a LAST step, raised "
                f"{type(error).__name__} ({error}): {_NEXT_EPISODE}."
            ) from error
        check_timestep(environment, timestep, step=step)
        if timestep.first() != previous.last():
            raise ValueError(
                f"step() at step {step} returned a {timestep.step_type.name} step "
                f"after a {previous.step_type.name} one: {_NEXT_EPISODE}, and only "
                "there may a FIRST step come."
            )
        if not _same(kept, previous.observation):
            raise ValueError(
                f"step() at step {step} wrote into the observation that it had "
                "returned before: return a new array each time, or wrap the "
                "environment in rlcomponents.environments.wrappers.SinglePrecision."
            )


def check_specs(environment: Any) -> None:
    """Checks what an environment says of itself; plays nothing.

    Raises:
        ValueError: No agent could work with it.
    """
    missing = [name for name in _METHODS if not callable(getattr(environment, name, 0))]
    if missing:
        raise ValueError(
            f"{type(environment).__name__} is no dm_env.Environment, it has no "
            f"{', '.join(missing)}: a factory must return a dm_env.Environment "
            "(environments of other libraries need an adapter)."
        )
    _check_action_spec(environment.action_spec())
    observation_spec = environment.observation_spec()
    leaves = tree.flatten_with_path(observation_spec)
    if not leaves:
        raise ValueError("observation_spec() is empty: agents need something to see.")
    for path, spec in leaves:
        name = _name("observation", path)
        if not isinstance(spec, specs.Array):
            raise ValueError(
                f"observation_spec() gives {spec!r} for the {name}; it must be a "
                "dm_env.specs.Array."
            )
        if spec.dtype == np.uint8 and len(spec.shape) == 2:
            raise ValueError(
                f"The {name} of shape {spec.shape} and dtype uint8 looks like an image "
                "without a channel axis: wrap the environment in "
                "rlcomponents.environments.wrappers.FrameStack(environment, "
                f"num_frames=4), which gives {(*spec.shape, 4)}."
            )


def check_timestep(
    environment: dm_env.Environment, timestep: dm_env.TimeStep, *, step: int
) -> None:
    """Checks one time step against the specs.

    Args:
        environment: Whose specs hold.
        timestep: What its `reset` or `step` returned.
        step: Number of the step, for the message.

    Raises:
        ValueError: The step is not what the specs say, or not finite.
    """
    where = f"at step {step}"
    if not isinstance(timestep, dm_env.TimeStep):
        raise ValueError(f"Got {timestep!r} {where}; it must be a dm_env.TimeStep.")
    if timestep.first():
        if timestep.reward is not None or timestep.discount is not None:
            raise ValueError(
                f"A FIRST step carries reward {timestep.reward} and discount "
                f"{timestep.discount} {where}; both must be None, since no action led "
                "there: return dm_env.restart(observation)."
            )
    else:
        _check_scalar("reward", timestep.reward, where)
        _check_scalar("discount", timestep.discount, where)
        if not 0.0 <= timestep.discount <= 1.0:
            raise ValueError(
                f"The discount is {timestep.discount} {where}; it must be in [0, 1]: 0 "
                "where the episode terminates, else 1 (agents apply their own)."
            )
    observation_spec = environment.observation_spec()
    if isinstance(observation_spec, specs.Array) and isinstance(
        timestep.observation, np.ndarray
    ):
        # The most frequent kind by far: a walk through nests would cost as much again.
        _check_array("observation", timestep.observation, observation_spec, where)
        return
    try:
        tree.assert_same_structure(observation_spec, timestep.observation)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The observation {where} is not nested as observation_spec() says: got "
            f"{_outline(timestep.observation)}, expected {_outline(observation_spec)}."
        ) from error
    for (path, spec), value in zip(
        tree.flatten_with_path(observation_spec),
        tree.flatten(timestep.observation),
        strict=True,
    ):
        _check_array(_name("observation", path), value, spec, where)


def check_action(action: int, num_actions: int) -> None:
    """Checks a discrete action; -1 would otherwise index the last of them.

    Raises:
        ValueError: It is not in [0, num_actions).
    """
    if not 0 <= action < num_actions:
        raise ValueError(
            f"Action {action} does not exist: this environment's actions are 0 to "
            f"{num_actions - 1}."
        )


def _check_action_spec(spec: Any) -> None:
    if not isinstance(spec, specs.Array):
        raise ValueError(
            f"action_spec() is {spec!r}; it must be a dm_env.specs.DiscreteArray, or a "
            "BoundedArray for continuous actions."
        )
    if not isinstance(spec, specs.BoundedArray):
        raise ValueError(
            f"action_spec() has no bounds ({spec}): use a dm_env.specs.DiscreteArray, "
            "or a BoundedArray for continuous actions."
        )
    if np.issubdtype(spec.dtype, np.integer):
        if spec.shape != ():
            raise ValueError(
                f"action_spec() is {len(spec.shape)}-dimensional and integer ({spec}); "
                "a discrete action must be a single number: use a DiscreteArray."
            )
    elif not (np.isfinite(spec.minimum).all() and np.isfinite(spec.maximum).all()):
        raise ValueError(
            f"action_spec() has infinite bounds ({spec}); continuous actions need "
            "finite ones."
        )


def _check_scalar(name: str, value: Any, where: str) -> None:
    is_number = isinstance(value, numbers.Real) or (
        isinstance(value, np.ndarray)
        and value.shape == ()
        and np.issubdtype(value.dtype, np.number)
    )
    if not is_number:
        raise ValueError(f"The {name} is {value!r} {where}; it must be one number.")
    if not np.isfinite(value):
        raise ValueError(
            f"The {name} is {value} {where}; agents cannot learn from what is not "
            "finite: mend the environment."
        )


def _check_array(name: str, value: Any, spec: specs.Array, where: str) -> None:
    value = np.asarray(value)
    if value.shape != spec.shape or value.dtype != spec.dtype:
        raise ValueError(
            f"The {name} has shape {value.shape} and dtype {value.dtype} {where}; "
            f"observation_spec() says {spec.shape} and {spec.dtype}."
        )
    if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
        count = np.count_nonzero(~np.isfinite(value))
        raise ValueError(
            f"The {name} is not finite {where}: {count} of its {value.size} values are "
            "NaN or infinite."
        )
    if value.dtype == np.uint8 and _allows_every_byte(spec):
        return
    try:
        spec.validate(value)
    except ValueError as error:
        raise ValueError(
            f"The {name} leaves the bounds of observation_spec() {where}: its values "
            f"are {value.min()} to {value.max()}."
        ) from error


def _allows_every_byte(spec: specs.Array) -> bool:
    return not isinstance(spec, specs.BoundedArray) or (
        spec.minimum.ndim == spec.maximum.ndim == 0
        and spec.minimum <= 0
        and spec.maximum >= 255
    )


def _random_action(spec: specs.BoundedArray, rng: np.random.Generator) -> np.ndarray:
    if np.issubdtype(spec.dtype, np.integer):
        action = rng.integers(spec.minimum, spec.maximum, endpoint=True)
    else:
        action = rng.uniform(spec.minimum, spec.maximum, spec.shape)
    return np.asarray(action, spec.dtype)


def _same(before: Any, after: Any) -> bool:
    return all(
        np.array_equal(one, other)
        for one, other in zip(tree.flatten(before), tree.flatten(after), strict=True)
    )


def _name(field: str, path: tuple[Any, ...]) -> str:
    return "/".join([field, *map(str, path)])


def _outline(nest: Any) -> str:
    """Returns the structure of a nest without its arrays."""
    return str(tree.map_structure(lambda _: "*", nest))
