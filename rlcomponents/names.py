"""Names that users write: of code of their own, and near ones where one is wrong.

    module:my_package.my_games:make_maze

is `make_maze` in the module `my_package.my_games`, which may be in the current
directory.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

OWN = "module"
"""What the name of a user's own code begins with, before a colon."""


def is_own(name: str) -> bool:
    """Whether a name is that of a user's own code."""
    return name.partition(":")[0] == OWN


def near(name: str, names: Sequence[str]) -> str:
    """Returns ` (did you mean 'x' or 'y'?)`, or nothing where no name is near."""
    found = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


class OwnFunction(NamedTuple):
    """A user's function by name, so that another process finds it too.

    Attributes:
        module: Dotted path.
        attribute: Name in the module.
        directory: Where the program was started; searched last.
    """

    module: str
    attribute: str
    directory: str

    def find(self) -> Callable[..., Any]:
        """Imports the module, and returns the function."""
        if self.directory not in sys.path:
            sys.path.append(self.directory)
        return getattr(importlib.import_module(self.module), self.attribute)


def own_function(name: str, must_be: str) -> OwnFunction:
    """Looks for a user's function.

    Args:
        name: `module:package.module:function`.
        must_be: Completes "it must be", where it is something else.

    Raises:
        ValueError: There is no such function in the module.
        ImportError: The module cannot be found.
        Exception: Whatever the module's own code raises.
    """
    module, _, attribute = name.partition(":")[2].partition(":")
    if not module or not attribute or module.startswith("."):
        raise ValueError(
            f"{name!r} does not name a function: write '{OWN}:package.module:function'."
        )
    function = OwnFunction(module, attribute, os.getcwd())
    try:
        found = function.find()
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # The module is there; something that it imports is not.
        raise ModuleNotFoundError(
            f"{name!r}: no module {error.name!r} in the current directory "
            f"({function.directory}) or on the Python path.",
            name=error.name,
        ) from error
    except AttributeError as error:
        if module not in sys.modules:
            raise  # Raised by the module's own code.
        attributes = vars(sys.modules[module])
        raise ValueError(
            f"{name!r}: module {module!r} has no {attribute!r}"
            f"{near(attribute, list(attributes))}."
        ) from error
    if not callable(found):
        kind = type(found).__name__
        raise ValueError(f"{name!r}: {attribute!r} is a {kind}; it must be {must_be}.")
    return function
