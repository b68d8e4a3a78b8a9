"""The five MinAtar games (Young and Tian 2019), on the `minatar` package's own rules.

Only the modules of the games are loaded: importing `minatar` itself also imports
matplotlib, seaborn and pandas for a window that no node opens. What the package's
`Environment` adds to a game, sticky actions and seeding, is done here.
"""

import colorsys
import copy
import dataclasses
import functools
import importlib.util
import pathlib
import types

import dm_env
import numpy as np
from dm_env import specs

from rlcomponents import seeding, states
from rlcomponents.environments import checker, time_steps

_GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
_NUM_ACTIONS = 6  # Nothing, left, up, right, down, fire, in every game.
_CELL_PIXELS = 16  # Height and width of a cell of `screen`.
_NOT_STATE = ("action_map", "channels", "ramping", "random")  # Of a game's attributes.


@dataclasses.dataclass(frozen=True, kw_only=True)
class MinAtarSettings:
    """Settings of a game; the defaults are those of the MinAtar paper.

    Attributes:
        sticky_action_probability: Chance, at each step, that the game gets the action
            of the step before instead. An episode starts with "nothing" as that action.
        difficulty_ramping: Whether games that can become harder do.
        max_episode_steps: An episode is cut, as a truncation (discount 1), after so
            many agent steps. None: never. Freeway also ends by itself after 2,500
            steps; that end is part of the game (discount 0).
    """

    sticky_action_probability: float = 0.1
    difficulty_ramping: bool = True
    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ValueError: One of them makes no sense.
        """
        if not 0.0 <= self.sticky_action_probability <= 1.0:
            raise ValueError(
                f"sticky_action_probability is {self.sticky_action_probability}; it "
                "must be between 0 and 1."
            )
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise ValueError(
                f"max_episode_steps is {self.max_episode_steps}; it must be at least "
                "1, or None for no limit."
            )


def game_names() -> tuple[str, ...]:
    """Returns the games.

    Raises:
        ModuleNotFoundError: The `minatar` package is not installed.
    """
    _games_directory()
    return _GAMES


class MinAtar(dm_env.Environment):
    """One game. Not thread-safe.

    Observations are `[10, 10, C]` bool, one channel for each kind of object, a new
    array each step. The same seed, game and actions give the same steps.

    Attributes:
        null_action: The action that does nothing.
    """

    null_action = 0

    def __init__(self, game: str, settings: MinAtarSettings, seed: int) -> None:
        """Loads a game.

        Args:
            game: One of `game_names()`.
            settings: Settings of the game.
            seed: Seed of the game and of the sticky actions, in [0, 2^32).
        """
        self._settings = settings
        self._rng = np.random.RandomState(seed)
        self._game = _load(game).Env(ramping=settings.difficulty_ramping)
        self._game.random = self._rng  # Before the first reset: games draw from it.
        self._last_action = 0
        self._episode_steps = 0
        self._reset_next_step = True

    def reset(self) -> dm_env.TimeStep:
        """Starts a new game."""
        self._game.reset()
        self._last_action = 0
        self._episode_steps = 0
        self._reset_next_step = False
        return dm_env.restart(self._game.state())

    def step(self, action: int) -> dm_env.TimeStep:
        """Takes one action, or repeats the last one where it sticks.

        Args:
            action: In [0, 6).

        Raises:
            ValueError: No such action.
        """
        if self._reset_next_step:
            return self.reset()
        checker.check_action(action, _NUM_ACTIONS)
        if self._rng.random_sample() >= self._settings.sticky_action_probability:
            self._last_action = int(action)
        reward, terminal = self._game.act(self._last_action)
        self._episode_steps += 1
        cut = self._episode_steps == self._settings.max_episode_steps
        self._reset_next_step = terminal or cut
        if terminal:
            return time_steps.termination(reward, self._game.state())
        if cut:
            return time_steps.truncation(reward, self._game.state())
        return time_steps.transition(reward, self._game.state())

    def observation_spec(self) -> specs.BoundedArray:
        """Returns the spec of `[10, 10, C]` bool."""
        return specs.BoundedArray(
            self._game.state_shape(), bool, False, True, "channels"
        )

    def action_spec(self) -> specs.DiscreteArray:
        """Returns the spec of `[]` int32 in [0, 6)."""
        return specs.DiscreteArray(_NUM_ACTIONS, np.int32, "action")

    def reward_spec(self) -> specs.Array:
        """See `time_steps.reward_spec`."""
        return time_steps.reward_spec()

    def discount_spec(self) -> specs.BoundedArray:
        """See `time_steps.discount_spec`."""
        return time_steps.discount_spec()

    def screen(self) -> np.ndarray:
        """Returns a picture, `[160, 160, 3]` uint8 RGB, one colour for each channel."""
        state = self._game.state()
        colours = _colours(state.shape[-1])
        # The last of a cell's channels covers the others, as in the games' own window.
        top = np.max(state * np.arange(1, state.shape[-1] + 1), axis=-1)
        return colours[top].repeat(_CELL_PIXELS, axis=0).repeat(_CELL_PIXELS, axis=1)

    def save(self) -> states.State:
        """See `saving`."""
        game = {
            name: copy.deepcopy(value)
            for name, value in vars(self._game).items()
            if name not in _NOT_STATE
        }
        return {
            "game": game,
            "rng": seeding.save_generator(self._rng),
            "last_action": self._last_action,
            "episode_steps": self._episode_steps,
            "reset_next_step": self._reset_next_step,
        }

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        game = copy.deepcopy(state["game"])
        expected = vars(self._game).keys() - set(_NOT_STATE)
        if game.keys() != expected:
            raise ValueError(f"expected {sorted(expected)}, given {sorted(game)}")
        vars(self._game).update(game)
        seeding.restore_generator(self._rng, state["rng"])
        self._last_action = state["last_action"]
        self._episode_steps = state["episode_steps"]
        self._reset_next_step = state["reset_next_step"]


def _colours(num_channels: int) -> np.ndarray:
    """Returns `[1 + num_channels, 3]` uint8: black, then colours of equal distance."""
    colours = [(0.0, 0.0, 0.0)] + [
        colorsys.hsv_to_rgb(index / num_channels, 0.7, 1.0)
        for index in range(num_channels)
    ]
    return (255 * np.array(colours)).astype(np.uint8)


def _games_directory() -> pathlib.Path:
    package = importlib.util.find_spec("minatar")  # Finds it, does not import it.
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'minatar'", name="minatar")
    return pathlib.Path(package.submodule_search_locations[0]) / "environments"


@functools.cache
def _load(game: str) -> types.ModuleType:
    """Runs a game's module alone, without the packages above it."""
    spec = importlib.util.spec_from_file_location(
        f"minatar_game_{game}", _games_directory() / f"{game}.py"
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"The installed minatar package has no game {game!r}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
