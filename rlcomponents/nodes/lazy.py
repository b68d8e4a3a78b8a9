"""Names a node's constructor without importing it.

The launcher builds the program, but only the nodes should pay for TensorFlow (350 MB
and seconds of CPU each). A function pickled by reference is imported on both sides.
"""

import dataclasses
import importlib
from typing import Any

from rlcomponents import pulse


@dataclasses.dataclass(frozen=True)
class Constructor:
    """Calls a function of a module, which is imported at the call.

    Attributes:
        module: Dotted path.
        function: Name in it.
    """

    module: str
    function: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Imports the module and calls the function."""
        with pulse.current().starting():
            function = getattr(importlib.import_module(self.module), self.function)
            return function(*args, **kwargs)
