"""One string to an environment: `suite:name`, in flags, configs and run folders alike.

    atari:pong                       minatar:breakout
    catch                            catch:blind
    control:cartpole:balance         module:my_package.my_games:make_maze

`make_factory` checks the string and the settings at once, so that a wrong one is
refused before any process starts; the environment is built where the factory is called.

A suite is a module here with `game_names() -> tuple[str, ...]` (where it has several
games), a frozen dataclass of settings, and a constructor `(game, settings, seed)`. It
is imported when it is first asked for. A suite of one game may have `VARIANTS`, a dict
of settings by name.
"""

import dataclasses
import functools
import importlib
import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import dm_env

from rlcomponents import core, extras, names
from rlcomponents.environments import checker, wrappers

USERS_OWN = names.OWN
"""Suite of the environments that users bring."""


class _Suite(NamedTuple):
    """Where a suite is: names inside `rlcomponents.environments`."""

    module: str
    constructor: str
    settings: str
    has_games: bool = True


_SUITES = {
    "atari": _Suite("atari", "make", "AtariSettings"),
    "catch": _Suite("catch", "Catch", "CatchSettings", has_games=False),
    "control": _Suite("control", "make", "ControlSettings"),
    "minatar": _Suite("minatar", "MinAtar", "MinAtarSettings"),
}


def make_factory(name: str, **settings: Any) -> core.EnvironmentFactory:
    """Checks the name of an environment and returns what makes it from a seed.

    Args:
        name: `suite:name`, or `module:package.module:factory` for a user's own, where
            `factory(seed)` returns a `dm_env.Environment`. The module may be in the
            current directory. Its environments come in single precision and with
            actions numbered from 0: see `wrappers.adapt`.
        **settings: Fields of the suite's settings class, such as
            `atari.AtariSettings`.

    Returns:
        A factory, which can be pickled.

    Raises:
        ValueError: No such suite, game, variant or setting, or a bad value; the message
            gives near names.
        ImportError: The suite needs packages that are not installed, or the user's
            module cannot be found.
    """
    suite_name = suite(name)
    _, _, rest = name.partition(":")
    if suite_name == USERS_OWN:
        if settings:
            raise ValueError(
                f"{name} takes no setting {next(iter(settings))!r}: leave it out; your "
                "factory decides."
            )
        must_be = "a function that takes a seed and returns a dm_env.Environment"
        return _UserFactory(names.own_function(name, must_be))

    entry = _SUITES[suite_name]
    module = _import_suite(suite_name)
    arguments: tuple[str, ...] = ()
    of_variant: dict[str, Any] = {}
    if entry.has_games:
        _check_game(suite_name, rest, module.game_names())
        arguments = (rest,)
    elif rest:
        _check_variant(suite_name, rest, module.VARIANTS)
        of_variant = module.VARIANTS[rest]
    make_settings = getattr(module, entry.settings)
    fields = [field.name for field in dataclasses.fields(make_settings)]
    _refuse_unknown(name, settings, [x for x in fields if x not in of_variant])
    constructor = getattr(module, entry.constructor)
    return functools.partial(
        constructor, *arguments, make_settings(**of_variant, **settings)
    )


def suite(name: str) -> str:
    """Returns the suite in an environment's name.

    Raises:
        ValueError: No such suite.
    """
    suite_name = name.partition(":")[0]
    suites = sorted([*_SUITES, USERS_OWN])
    if suite_name not in suites:
        raise ValueError(
            f"Unknown environment {name!r}: there is no suite {suite_name!r}"
            f"{names.near(suite_name, suites)}. The suites are {', '.join(suites)}; a "
            "name looks like 'atari:pong' or 'module:package.module:factory'."
        )
    return suite_name


def game_names(suite_name: str) -> tuple[str, ...]:
    """Returns the names of a suite's environments, as `make_factory` takes them.

    Raises:
        ValueError: No such suite.
        ImportError: Its packages are not installed.
    """
    if suite(suite_name) == USERS_OWN:
        return ()
    module = _import_suite(suite_name)
    if not _SUITES[suite_name].has_games:
        return (suite_name, *(f"{suite_name}:{name}" for name in module.VARIANTS))
    return tuple(f"{suite_name}:{game}" for game in module.game_names())


def frames_per_step(name: str, **settings: Any) -> int:
    """Returns the emulator frames of one agent step; 1 where there is no emulator.

    Raises:
        ValueError, ImportError: As `make_factory`.
    """
    return all_settings(name, **settings).get("frame_skip_frames", 1)


def all_settings(name: str, **settings: Any) -> dict[str, Any]:
    """Returns settings with the defaults of all others; none of a user's own.

    Raises:
        ValueError, ImportError: As `make_factory`.
    """
    factory = make_factory(name, **settings)
    if not isinstance(factory, functools.partial):  # A user's own.
        return {}
    return dataclasses.asdict(factory.args[-1])


@dataclasses.dataclass(frozen=True)
class _UserFactory:
    """Makes a user's environment."""

    function: names.OwnFunction

    def __call__(self, seed: int) -> dm_env.Environment:
        environment = self.function.find()(seed)
        checker.check_specs(environment)
        return wrappers.adapt(environment)


def _import_suite(suite_name: str) -> ModuleType:
    entry = _SUITES[suite_name]
    try:
        module = importlib.import_module(f"rlcomponents.environments.{entry.module}")
        if entry.has_games:
            module.game_names()  # Looks for what the module itself need not import.
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The {suite_name} environments need the package {error.name!r}: "
            f"{extras.install(suite_name)}.",
            name=error.name,
        ) from error
    return module


def _check_game(suite_name: str, game: str, games: Sequence[str]) -> None:
    if game in games:
        return
    known = game.rpartition(":")[0]
    if known in games:
        raise ValueError(
            f"'{suite_name}:{game}': {suite_name} has no variants; write "
            f"'{suite_name}:{known}'."
        )
    hint = names.near(_snake_case(game), games)
    if not hint and len(games) <= 10:
        hint = f"; the games are {', '.join(games)}"
    if not hint:
        hint = (
            f"; rlcomponents.environments.registry.game_names({suite_name!r}) lists "
            f"all {len(games)} games"
        )
    raise ValueError(f"Unknown {suite_name} game {game!r}{hint}.")


def _check_variant(suite_name: str, variant: str, variants: Iterable[str]) -> None:
    if variant not in variants:
        known = [suite_name, *(f"{suite_name}:{name}" for name in variants)]
        raise ValueError(
            f"{suite_name} is one game and has no variant {variant!r}; write "
            f"{' or '.join(map(repr, known))}."
        )


def _refuse_unknown(
    environment: str, settings: dict[str, Any], allowed: Sequence[str]
) -> None:
    for name in settings:
        if name not in allowed:
            raise ValueError(
                f"{environment} has no setting {name!r}{names.near(name, allowed)}; "
                f"its settings are {', '.join(allowed)}."
            )


def _snake_case(name: str) -> str:
    """Turns the spellings of other libraries into ALE's: SpaceInvaders-v5, QBert."""
    name = re.sub(r"(NoFrameskip|Deterministic)?-v\d+$", "", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[\s-]+", "_", name).lower()
