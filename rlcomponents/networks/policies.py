"""What an actor-critic network says about actions: one class for each kind of action.

Arrays may be TensorFlow's, in a loss, or NumPy's, where actions are drawn
(`rlcomponents.exploration`). No TensorFlow is needed to name them.
"""

from typing import Any, NamedTuple


class Softmax(NamedTuple):
    """Over discrete actions: pi(a) is proportional to exp(logits[a]).

    Attributes:
        logits: `[..., A]` float32.
    """

    logits: Any


class Gaussian(NamedTuple):
    """Over continuous actions: N(mean, variance I), not cut off at any bounds.

    Attributes:
        mean: `[..., D]` float32.
        variance: `[...]` float32, positive; the same in every dimension.
    """

    mean: Any
    variance: Any


Policy = Softmax | Gaussian
"""Either of the two, with one interface."""
