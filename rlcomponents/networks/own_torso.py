"""A torso of a user's own, by name: `module:package.module:make_torso`.

`make_torso(environment_spec)` returns a new `snt.Module` that maps observations
`[B, ...]`, as the environment gives them, to features `[B, F]` float32. It ends with
the last hidden layer: what follows, linear layers or LSTM cells, is the agent's.
"""

import contextlib
import pathlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import sonnet as snt
import tensorflow as tf

from rlcomponents import names, specs
from rlcomponents.networks import initialisation

_NUM_OBSERVATIONS = 2

_MUST_BE = "a function that takes an EnvironmentSpec and returns a Sonnet module"


def make(name: str, environment_spec: specs.EnvironmentSpec) -> snt.Module:
    """Calls the user's function.

    Args:
        name: `module:package.module:make_torso`.
        environment_spec: Given to it.

    Raises:
        ValueError: There is no such function, or it returns something else.
        ImportError: There is no such module.
    """
    return _module(name, _function(name)(environment_spec))


def check(name: str, environment_spec: specs.EnvironmentSpec) -> None:
    """Builds the torso for some observations, and traces it for any number.

    Args:
        name: As of `make`.
        environment_spec: What it has to fit.

    Raises:
        ValueError: It cannot be made, takes no such observations, does not give
            features `[B, F]` float32, has layers without an initialisation here, or is
            the same module twice, of which a target network would be the network.
        ImportError: There is no such module.
    """
    observations = specs.one_array(environment_spec.observations)
    with _errors_refused(name, but=(ValueError, ImportError)):  # These say enough.
        make_torso = _function(name)
    with _errors_refused(name):
        made = make_torso(environment_spec), make_torso(environment_spec)
    torso, other = (_module(name, each) for each in made)
    with _errors_refused(name):
        initialisation.check_unbuilt(torso, other)
        features = torso(
            tf.zeros([_NUM_OBSERVATIONS, *observations.shape], observations.dtype)
        )
    _check_features(name, features)
    # As an agent runs it: for any number of observations, with each `if` decided once.
    traced = tf.function(torso.__call__, autograph=False)
    with _errors_refused(name):
        if snt.allow_empty_variables(torso).variables:
            initialisation.initialise(torso, seed=0)
        traced.get_concrete_function(
            tf.TensorSpec([None, *observations.shape], observations.dtype)
        )


def _function(name: str) -> Callable[[specs.EnvironmentSpec], Any]:
    return names.own_function(name, _MUST_BE).find()


def _module(name: str, made: Any) -> snt.Module:
    if not isinstance(made, snt.Module):
        raise ValueError(
            f"{name} returned a {type(made).__name__}: it must be {_MUST_BE}."
        )
    return made


@contextlib.contextmanager
def _errors_refused(
    name: str, *, but: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Raises ValueError, with the place in the user's module, where that raises."""
    try:
        yield
    except but:
        raise
    except Exception as error:
        kind = type(error).__name__
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        found = kind
        if lines:  # TensorFlow puts a call stack in front, and the kind once more.
            found += ": " + lines[-1].removeprefix(f"{kind}: ")
        stem = name.split(":")[1].rpartition(".")[2]
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if pathlib.Path(each.filename).stem == stem]
        if own:
            found += f" ({own[-1].filename}, line {own[-1].lineno})"
        raise ValueError(f"{name} raised {found}") from error


def _check_features(name: str, features: Any) -> None:
    if not tf.is_tensor(features):
        found = f"a {type(features).__name__}"
    elif (
        features.dtype != tf.float32
        or features.shape.rank != 2
        or features.shape[0] != _NUM_OBSERVATIONS
        or features.shape[1] == 0
    ):
        found = f"a tensor of {features.dtype.name} and shape {features.shape}"
    else:
        return
    raise ValueError(
        f"{name} makes {found} of {_NUM_OBSERVATIONS} observations: it must make "
        "features [B, F] float32, a row of each."
    )
