"""How a gradient changes parameters, in place, on flat float32 arrays.

Every rule is element-wise, so a vector cut into shards goes the same way, to the bit,
as the vector in one piece. That needs float32 throughout: kernels get `np.float32`
scalars, where a Python float would make Numba compute in float64.
"""

import abc
import dataclasses

import numpy as np

from rlcomponents.parameters import update_kernels

State = dict[str, np.ndarray]
"""A rule's statistics: float32 arrays by name, one value a parameter or one for all."""


class UpdateRule(abc.ABC):
    """One published rule. Holds its constants only; the caller holds the state."""

    @abc.abstractmethod
    def make_state(self, size: int) -> State:
        """Returns the statistics before the first gradient, for `size` parameters."""

    def apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: float,
    ) -> None:
        """Changes `parameters` and `state` in place. Not atomic: lock around it.

        Args:
            parameters: `[size]` float32, contiguous.
            gradient: `[size]` float32, contiguous, d(loss)/d(parameter). Not changed.
            state: From `make_state(size)`.
            learning_rate: Factor of the step.

        Raises:
            ValueError: An array of another dtype, shape or memory order.
        """
        # Checked every time: a kernel reads past the end of what is too short.
        _check_array("parameters", parameters, parameters.size)
        _check_array("gradient", gradient, parameters.size)
        for name, slot in state.items():
            if slot.ndim:
                _check_array(name, slot, parameters.size)
        # Read-only, as gradients from the wire are: Numba takes the two for different
        # types, and processes that compile different types of one kernel at once can
        # overwrite each other's cache entries.
        gradient = gradient.view()
        gradient.flags.writeable = False
        self._apply(parameters, gradient, state, np.float32(learning_rate))

    @abc.abstractmethod
    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        """Does what `apply` says, on arguments that were checked."""


@dataclasses.dataclass(frozen=True)
class SGD(UpdateRule):
    """Plain gradient descent. Keeps no statistics.

        p <- p - eta g

    Also the rule for workers that push finished steps (see `PrivateStatistics`).

    Reference:
        Robbins and Monro 1951, "A Stochastic Approximation Method".
    """

    def make_state(self, size: int) -> State:
        """See `UpdateRule`."""
        del size
        return {}

    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        del state
        update_kernels.sgd(parameters, gradient, learning_rate)


@dataclasses.dataclass(frozen=True)
class MomentumSGD(UpdateRule):
    """Descends along an exponential average of the gradients, from 0.

        m <- a m + (1 - a) g
        p <- p - eta m

    Attributes:
        momentum: `a`, in [0, 1).

    Reference:
        Mnih et al. 2016, supplement section 7 ("Optimization Details");
        https://arxiv.org/abs/1602.01783. Most libraries leave out the factor
        (1 - a); a learning rate given for those is 1 - a times the one here.
    """

    momentum: float = 0.99

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_fraction("momentum", self.momentum)

    def make_state(self, size: int) -> State:
        """See `UpdateRule`."""
        return {"momentum": np.zeros(size, np.float32)}

    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        update_kernels.momentum_sgd(
            parameters,
            gradient,
            state["momentum"],
            learning_rate,
            np.float32(self.momentum),
            np.float32(1.0 - self.momentum),
        )


@dataclasses.dataclass(frozen=True)
class AdaGrad(UpdateRule):
    """Divides by the root of the sum of all squared gradients. Gorila's rule.

        s <- s + g^2
        p <- p - eta g / (sqrt(s) + epsilon)

    Attributes:
        initial_accumulator: `s` before the first gradient. Bounds the first steps,
            which would be eta whatever the gradient if it were 0. 0.1 is TensorFlow's.
        epsilon: Outside the root.

    Reference:
        Duchi et al. 2011, Figure 1 (diagonal, composite mirror descent), with delta =
        epsilon; https://jmlr.org/papers/v12/duchi11a.html. Nair et al. 2015 use the
        rule without giving constants. Differs: `initial_accumulator`, as TensorFlow.
    """

    initial_accumulator: float = 0.1
    epsilon: float = 1e-7

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_not_negative("initial_accumulator", self.initial_accumulator)
        _check_not_negative("epsilon", self.epsilon)
        if self.initial_accumulator == 0.0 and self.epsilon == 0.0:
            raise ValueError(
                "initial_accumulator and epsilon are both 0: a first gradient of 0 "
                "would be 0 / 0. Make one of them positive."
            )

    def make_state(self, size: int) -> State:
        """See `UpdateRule`."""
        return {"accumulator": np.full(size, self.initial_accumulator, np.float32)}

    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        update_kernels.adagrad(
            parameters,
            gradient,
            state["accumulator"],
            learning_rate,
            np.float32(self.epsilon),
        )


@dataclasses.dataclass(frozen=True)
class RMSProp(UpdateRule):
    """Divides by the root of a moving average of squared gradients, from 0.

        s <- decay s + (1 - decay) g^2
        p <- p - eta g / sqrt(s + epsilon)

    Not centred, no momentum. Held by a store, `s` is shared among workers ("Shared
    RMSProp"); held by a worker through `PrivateStatistics`, it is its own.

    Attributes:
        decay: In [0, 1).
        epsilon: Inside the root, so 0.1 bounds the step at 3.2 eta g.

    Reference:
        Mnih et al. 2016, equations S2 and S3; https://arxiv.org/abs/1602.01783.
        epsilon = 0.1 is not in the paper, but in a note of its authors
        (https://github.com/muupan/async-rl/wiki).
    """

    decay: float = 0.99
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_fraction("decay", self.decay)
        _check_positive("epsilon", self.epsilon)

    def make_state(self, size: int) -> State:
        """See `UpdateRule`."""
        return {"mean_square": np.zeros(size, np.float32)}

    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        update_kernels.rmsprop(
            parameters,
            gradient,
            state["mean_square"],
            learning_rate,
            np.float32(self.decay),
            np.float32(1.0 - self.decay),
            np.float32(self.epsilon),
        )


@dataclasses.dataclass(frozen=True)
class Adam(UpdateRule):
    """Moving averages of the gradient and its square, both freed of their bias.

        m <- b1 m + (1 - b1) g
        v <- b2 v + (1 - b2) g^2
        p <- p - eta (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)

    `t` counts the gradients applied, from 1. It is a slot like the others, one float32
    for all parameters: exact up to 2^24, where b^t has long been 0.

    Attributes:
        beta1: In [0, 1).
        beta2: In [0, 1).
        epsilon: Outside the root.

    Reference:
        Kingma and Ba 2015, Algorithm 1; https://arxiv.org/abs/1412.6980.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_fraction("beta1", self.beta1)
        _check_fraction("beta2", self.beta2)
        _check_positive("epsilon", self.epsilon)

    def make_state(self, size: int) -> State:
        """See `UpdateRule`."""
        return {
            "first_moment": np.zeros(size, np.float32),
            "second_moment": np.zeros(size, np.float32),
            "count": np.zeros((), np.float32),
        }

    def _apply(
        self,
        parameters: np.ndarray,
        gradient: np.ndarray,
        state: State,
        learning_rate: np.float32,
    ) -> None:
        state["count"] += 1.0
        count = float(state["count"])
        update_kernels.adam(
            parameters,
            gradient,
            state["first_moment"],
            state["second_moment"],
            learning_rate,
            np.float32(self.beta1),
            np.float32(1.0 - self.beta1),
            np.float32(self.beta2),
            np.float32(1.0 - self.beta2),
            np.float32(1.0 - self.beta1**count),
            np.float32(1.0 - self.beta2**count),
            np.float32(self.epsilon),
        )


class PrivateStatistics:
    """A rule whose statistics one worker keeps to itself. Not thread-safe.

    Turns a gradient into the step that the rule would take at learning rate 1. The
    worker pushes that step to a store under `SGD`, which keeps the schedule.
    Clip before, not in the store: its `max_gradient_norm` would clip the step.

    Attributes:
        rule: The rule.
        num_parameters: Length of the gradients.
        state: The statistics now.

    Reference:
        Mnih et al. 2016, supplement section 7 (momentum SGD and RMSProp with
        statistics per thread); https://arxiv.org/abs/1602.01783.
    """

    def __init__(self, rule: UpdateRule, num_parameters: int) -> None:
        """Makes the statistics.

        Args:
            rule: Any rule whose step is proportional to the learning rate.
            num_parameters: Length of the gradients.
        """
        self.rule = rule
        self.num_parameters = num_parameters
        self.state = rule.make_state(num_parameters)

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """Returns the `[num_parameters]` float32 step; updates the statistics."""
        step = np.zeros(self.num_parameters, np.float32)
        self.rule.apply(step, gradient, self.state, -1.0)  # 0 - (-1) step
        return step


def _check_array(name: str, array: np.ndarray, size: int) -> None:
    if (
        array.dtype != np.float32
        or array.shape != (size,)
        or not array.flags.c_contiguous
    ):
        raise ValueError(
            f"{name} is {array.dtype} of shape {array.shape}: it must be contiguous "
            f"float32 of shape ({size},)."
        )


def _check_fraction(name: str, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name} is {value}: give 0 or more, and less than 1.")


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < float("inf"):
        raise ValueError(f"{name} is {value}: give a positive number.")


def _check_not_negative(name: str, value: float) -> None:
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"{name} is {value}: give 0 or a positive number.")
