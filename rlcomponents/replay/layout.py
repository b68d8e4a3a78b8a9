"""Which part of an observation is sent to replay each step.

A stack of four frames shares three of them with the stack before it. So of an
observation that the environment declares as a `FrameStack`, only the newest frame is
sent and kept; items refer to the last four, and stack them again when sampled. Any
other observation is sent whole, once a step.

Pure NumPy. Columns are the leaves of the observation, in the order of `tree.flatten`.
"""

from typing import Any, NamedTuple

import numpy as np
import tree

from rlcomponents import specs


class Column(NamedTuple):
    """One leaf of the observation, as it is stored.

    Attributes:
        name: Of the field, for messages: `observation/camera`.
        observed_shape: Shape in the observation, `[*F, num_frames]` for a stack.
        shape: Shape of what is sent each step: `[*F]` for a stack.
        dtype: Of both.
        num_frames: Frames of the stack; None for what is stored whole.
    """

    name: str
    observed_shape: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    num_frames: int | None

    @property
    def item_shape(self) -> tuple[int, ...]:
        """Shape in an item: `[num_frames, *F]` for a stack."""
        return self.shape if self.num_frames is None else (self.num_frames, *self.shape)


class ObservationLayout:
    """Cuts observations of one spec into rows to be stored. Holds no observation.

    Attributes:
        columns: What is stored of each leaf, in the order of `tree.flatten`.
        max_frames: Frames of the deepest stack; 1 without stacks.
    """

    def __init__(self, observation_spec: Any) -> None:
        """Reads the spec.

        Args:
            observation_spec: Nested dm_env specs; `specs.FrameStack` leaves are stored
                frame by frame.

        Raises:
            ValueError: No leaf at all.
        """
        self._spec = observation_spec
        self.columns = tuple(
            _column(path, spec)
            for path, spec in tree.flatten_with_path(observation_spec)
        )
        if not self.columns:
            raise ValueError(
                "The observation spec is empty: there is nothing to store."
            )
        self.max_frames = max(column.num_frames or 1 for column in self.columns)

    def leaves(self, observation: Any) -> list[np.ndarray]:
        """Returns the checked leaves of an observation.

        Args:
            observation: Of the structure and shapes of the spec. May be of another
                precision (float64 for float32), not of another kind.

        Returns:
            Arrays of the spec's shapes and dtypes; may share memory with `observation`.

        Raises:
            ValueError: Another structure, shape or kind of number, or not finite.
        """
        try:
            tree.assert_same_structure(self._spec, observation)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"observation does not have the structure of its spec: {error}"
            ) from error
        return [
            _checked(column, np.asarray(leaf))
            for column, leaf in zip(
                self.columns, tree.flatten(observation), strict=True
            )
        ]

    def first_rows(
        self, leaves: list[np.ndarray]
    ) -> list[tuple[np.ndarray | None, ...]]:
        """Returns what to send for the first observation of an episode, oldest first.

        As many rows as the deepest stack has frames, so that all of the first stack is
        there to refer to. None where a column has nothing to send in a row.
        """
        return [self._row(leaves, age) for age in reversed(range(self.max_frames))]

    def is_one_row(self, leaves: list[np.ndarray]) -> bool:
        """Whether each stack holds one frame alone, as the first of an episode does.

        Its row then has all of it.
        """
        return all(
            column.num_frames is None or bool((leaf == leaf[..., -1:]).all())
            for column, leaf in zip(self.columns, leaves, strict=True)
        )

    def row(self, leaves: list[np.ndarray]) -> tuple[np.ndarray | None, ...]:
        """Returns what to send for any later observation: one entry a column."""
        return self._row(leaves, age=0)

    def observation(self, leaves: list[Any]) -> Any:
        """Puts leaves, one a column, back into the structure of the observation."""
        return tree.unflatten_as(self._spec, leaves)

    def _row(self, leaves: list[np.ndarray], age: int) -> tuple[np.ndarray | None, ...]:
        return tuple(
            _frame(column, leaf, age)
            for column, leaf in zip(self.columns, leaves, strict=True)
        )


def _column(path: tuple[Any, ...], spec: Any) -> Column:
    shape = tuple(spec.shape)
    name = "/".join(["observation", *map(str, path)])
    if isinstance(spec, specs.FrameStack):
        return Column(name, shape, shape[:-1], spec.dtype, spec.num_frames)
    return Column(name, shape, shape, spec.dtype, None)


def _checked(column: Column, leaf: np.ndarray) -> np.ndarray:
    if leaf.shape != column.observed_shape:
        raise ValueError(
            f"{column.name} has shape {leaf.shape} where its spec says "
            f"{column.observed_shape}."
        )
    if leaf.dtype != column.dtype:
        if not np.can_cast(leaf.dtype, column.dtype, casting="same_kind"):
            raise ValueError(
                f"{column.name} is {leaf.dtype} where its spec says {column.dtype}."
            )
        leaf = leaf.astype(column.dtype)
    if column.dtype.kind == "f" and not np.isfinite(leaf).all():
        raise ValueError(f"{column.name} is not finite.")
    return leaf


def _frame(column: Column, leaf: np.ndarray, age: int) -> np.ndarray | None:
    if column.num_frames is None:
        return leaf if age == 0 else None
    if age >= column.num_frames:
        return None
    return np.ascontiguousarray(leaf[..., column.num_frames - 1 - age])
