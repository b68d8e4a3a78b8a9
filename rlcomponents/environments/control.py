"""Continuous control: the DeepMind Control Suite on MuJoCo, `control:<domain>:<task>`.

What a task observes, a dict of positions, velocities and so on, comes as one float32
vector; see `flat_observations`. Actions outside the bounds act as the nearest ones
inside; see `wrappers.ClippedActions`. Rewards are in [0, 1] at each step.

OpenGL is touched by the first `screen()` only. Low-dimensional control runs without a
display and without OpenGL, and workers on a machine with GPUs leave these alone.

Left out of the suite: `lqr`, whose actions have no bounds and whose episodes need not
end, and `quadruped:escape`, which cannot even be reset without OpenGL.

Reference:
    Tassa et al. 2018. https://arxiv.org/abs/1801.00690
"""

import atexit
import dataclasses
import importlib
import importlib.util
import os
from types import ModuleType
from typing import Any

import dm_env
import numpy as np
from absl import logging

from rlcomponents import seeding, states
from rlcomponents.environments import flat_observations, wrappers

_TASKS = {
    "acrobot": ("swingup", "swingup_sparse"),
    "ball_in_cup": ("catch",),
    "cartpole": (
        "balance",
        "balance_sparse",
        "swingup",
        "swingup_sparse",
        "three_poles",
        "two_poles",
    ),
    "cheetah": ("run",),
    "dog": ("fetch", "run", "stand", "trot", "walk"),
    "finger": ("spin", "turn_easy", "turn_hard"),
    "fish": ("swim", "upright"),
    "hopper": ("hop", "stand"),
    "humanoid": ("run", "run_pure_state", "stand", "walk"),
    "humanoid_CMU": ("run", "stand", "walk"),
    "manipulator": ("bring_ball", "bring_peg", "insert_ball", "insert_peg"),
    "pendulum": ("swingup",),
    "point_mass": ("easy", "hard"),
    "quadruped": ("fetch", "run", "walk"),
    "reacher": ("easy", "hard"),
    "stacker": ("stack_2", "stack_4"),
    "swimmer": ("swimmer15", "swimmer6"),
    "walker": ("run", "stand", "walk"),
}
_GL = "MUJOCO_GL"
_HEIGHT_PIXELS, _WIDTH_PIXELS = 240, 320  # Of `screen`.
_MAX_SHAPES = 10_000  # In a picture; the suite's largest scene has some hundreds.


@dataclasses.dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """Settings of a task.

    Attributes:
        max_episode_steps: An episode is cut, as a truncation (discount 1), after so
            many agent steps. None: where the suite cuts it, after 1,000 steps.
    """

    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ValueError: One of them makes no sense.
        """
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise ValueError(
                f"max_episode_steps is {self.max_episode_steps}; it must be at least "
                "1, or None for the suite's own limit."
            )


def game_names() -> tuple[str, ...]:
    """Returns the tasks, `<domain>:<task>`. Does not import MuJoCo.

    Raises:
        ModuleNotFoundError: The `dm_control` package is not installed.
    """
    if importlib.util.find_spec("dm_control") is None:
        raise ModuleNotFoundError("No module named 'dm_control'", name="dm_control")
    return tuple(f"{domain}:{task}" for domain in _TASKS for task in _TASKS[domain])


def make(game: str, settings: ControlSettings, seed: int) -> dm_env.Environment:
    """Makes a task.

    Args:
        game: One of `game_names()`.
        settings: Settings of the task.
        seed: Seed of the initial states and targets, in [0, 2^32). The same seed and
            actions give the same steps.

    Returns:
        The environment. Not thread-safe.
    """
    domain, _, task = game.partition(":")
    environment = Control(domain, task, seed)
    if settings.max_episode_steps is not None:
        environment = wrappers.StepLimit(environment, settings.max_episode_steps)
    return wrappers.adapt(flat_observations.FlatObservations(environment))


class Control(wrappers.EnvironmentWrapper):
    """A task as the suite has it, and pictures of it. Not thread-safe.

    Its state is how the episode began, and the actions since: tasks change the model
    itself (targets, gains), which MuJoCo's own state does not have. So `restore` plays
    the episode up to there again, at most 1,000 steps.
    """

    def __init__(self, domain: str, task: str, seed: int) -> None:
        """Loads a task.

        Args:
            domain: The body and its surroundings.
            task: What to do with it.
            seed: As in `make`.
        """
        verbosity = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)  # Some models use deprecated settings.
        try:
            environment = _suite().load(domain, task, task_kwargs={"random": seed})
        finally:
            logging.set_verbosity(verbosity)
        super().__init__(environment)
        self._camera: _Camera | None = None
        self._start = seeding.save_generator(environment.task.random)
        self._actions: list[np.ndarray] = []  # Of this episode.
        self._reset_next_step = True

    def reset(self) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        self._start = seeding.save_generator(self._environment.task.random)
        self._actions = []
        self._reset_next_step = False
        return self._environment.reset()

    def step(self, action: np.ndarray) -> dm_env.TimeStep:
        """See `dm_env.Environment`."""
        if self._reset_next_step:
            return self.reset()
        timestep = self._environment.step(action)
        self._actions.append(np.array(action))
        self._reset_next_step = timestep.last()
        return timestep

    def save(self) -> states.State:
        """See `saving`."""
        return {
            "start": self._start,
            "actions": np.array(self._actions),
            "begun": bool(self._actions) or not self._reset_next_step,
        }

    def restore(self, state: states.State) -> None:
        """See `saving`."""
        seeding.restore_generator(self._environment.task.random, state["start"])
        if state["begun"]:
            self.reset()
        for action in state["actions"]:
            self.step(action)

    def screen(self) -> np.ndarray:
        """Returns a picture, `[240, 320, 3]` uint8 RGB, by the task's first camera.

        Raises:
            RuntimeError: There is no OpenGL to draw with.
        """
        if self._camera is None:
            self._camera = _Camera(self._environment.physics)
        return self._camera.draw()

    def close(self) -> None:
        """Frees what pictures took."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None
        super().close()


class _Camera:
    """Draws one simulation into memory, off any screen."""

    def __init__(self, physics: Any) -> None:
        import mujoco

        self._model, self._data = physics.model.ptr, physics.data.ptr
        # Software OpenGL would spend most of its time on these two.
        self._model.vis.quality.shadowsize = 0
        self._model.vis.quality.offsamples = 0
        self._open_gl = _open_gl()
        self._open_gl.make_current()
        self._context = mujoco.MjrContext(
            self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value
        )
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(self._model, _MAX_SHAPES)
        self._options = mujoco.MjvOption()
        self._window = mujoco.MjrRect(0, 0, _WIDTH_PIXELS, _HEIGHT_PIXELS)
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._view.fixedcamid = 0
        # Freed later than this, OpenGL complains on the screen about its own end.
        atexit.register(self.close)

    def draw(self) -> np.ndarray:
        import mujoco

        self._open_gl.make_current()
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            self._options,
            None,
            self._view,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        mujoco.mjr_render(self._window, self._scene, self._context)
        picture = np.empty((_HEIGHT_PIXELS, _WIDTH_PIXELS, 3), np.uint8)
        mujoco.mjr_readPixels(picture, None, self._window, self._context)
        return picture[::-1]  # OpenGL's first row is the lowest.

    def close(self) -> None:
        atexit.unregister(self.close)
        self._open_gl.make_current()
        self._context.free()
        self._open_gl.free()


def _suite() -> ModuleType:
    """Imports the suite without OpenGL, unless the user asks for it."""
    os.environ.setdefault(_GL, "disabled")
    from dm_control import suite

    return suite


def _open_gl() -> Any:
    """Returns an OpenGL context that needs no display, or the one the user asks for."""
    backend = os.environ.get(_GL, "")
    if backend not in ("glfw", "osmesa"):
        backend = "egl"
    try:
        module = importlib.import_module(f"mujoco.{backend}")
        return module.GLContext(_WIDTH_PIXELS, _HEIGHT_PIXELS)
    except Exception as error:  # Each library fails in a way of its own.
        raise RuntimeError(
            f"No picture without OpenGL, and {backend} gives none ({error}): install "
            "libegl1 and libegl-mesa0, or set MUJOCO_GL to glfw or osmesa."
        ) from error
