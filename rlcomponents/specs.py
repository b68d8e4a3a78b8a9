"""What an environment takes and gives, as data.

`EnvironmentSpec` and `make_environment_spec` are Acme's own, so that Acme's actors and
ours agree. Added here is the one thing that dm_env cannot say: that an observation is a
stack of frames, of which replay need only store the newest.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from acme import specs as acme_specs
from dm_env import specs as dm_env_specs

EnvironmentSpec = acme_specs.EnvironmentSpec
make_environment_spec = acme_specs.make_environment_spec


def one_array(observations: Any) -> dm_env_specs.Array:
    """Returns the spec of observations, as it is.

    Args:
        observations: Of an environment; any structure of specs.

    Raises:
        ValueError: It is not the spec of one array.
    """
    if not isinstance(observations, dm_env_specs.Array):
        raise ValueError(
            f"The observations are a {type(observations).__name__}: these networks "
            "take one array; let a wrapper pick or concatenate the parts."
        )
    return observations


class FrameStack(dm_env_specs.BoundedArray):
    """Describes an observation whose last axis is a stack of frames, newest last.

    An environment with this spec promises that, from one step to the next, the stack
    moves on by exactly one frame, and that the stack of a FIRST step holds copies of
    one frame. So `observation[..., -1]` of each step is all that has to be stored.
    """

    def __init__(
        self,
        shape: Iterable[int],
        dtype: Any,
        minimum: Any,
        maximum: Any,
        name: str | None = None,
    ) -> None:
        """Initialises the spec of the whole stack.

        Args:
            shape: Frame shape followed by the number of frames: `(84, 84, 4)`.
            dtype: NumPy dtype of the pixels.
            minimum: Lower bound, inclusive, broadcastable to `shape`.
            maximum: Upper bound, inclusive, broadcastable to `shape`.
            name: Optional name for messages.

        Raises:
            ValueError: No axis to stack on, or an empty stack.
        """
        shape = tuple(shape)
        if not shape or shape[-1] < 1:
            raise ValueError(
                f"A frame stack of shape {shape} holds no frame: the last axis is the "
                "number of frames and must be at least 1."
            )
        super().__init__(shape, dtype, minimum, maximum, name)

    @property
    def num_frames(self) -> int:
        """Frames in the stack."""
        return self.shape[-1]

    def __repr__(self) -> str:
        return super().__repr__().replace("BoundedArray", "FrameStack", 1)

    def __reduce__(self) -> tuple[Any, ...]:
        # dm_env's own would turn into a BoundedArray on its way to another process.
        return FrameStack, (
            self.shape,
            self.dtype,
            np.array(self.minimum),
            np.array(self.maximum),
            self.name,
        )
