import importlib
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from absl.testing import absltest

from rlcomponents.environments import control, registry
from rlcomponents.testing import environment_contract


class TestControlContract(
    environment_contract.ContinuousEnvironmentContract, absltest.TestCase
):
    num_steps = 60  # The end of an episode and the start of the next, too.

    def make_environment(self, seed):
        settings = control.ControlSettings(max_episode_steps=50)
        return control.make("walker:walk", settings, seed)

    def test_its_picture_is_rgb(self):
        if not _can_draw():
            with pytest.raises(RuntimeError, match="No picture without OpenGL"):
                super().test_its_picture_is_rgb()
            return
        super().test_its_picture_is_rgb()


@pytest.fixture(scope="module")
def suite():
    """The suite itself, imported as `control` imports it: without OpenGL."""
    _make()
    return importlib.import_module("dm_control.suite")


def _make(game="cartpole:balance", seed=0, **settings):
    return registry.make_factory(f"control:{game}", **settings)(seed)


def _can_draw():
    """Whether this machine has the OpenGL that pictures take."""
    try:
        importlib.import_module("mujoco.egl").GLContext(1, 1).free()
    except Exception:
        return False
    return True


def _run(program):
    """Runs a program in a fresh process; returns what it prints."""
    inherited = {name: x for name, x in os.environ.items() if name != "MUJOCO_GL"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**inherited, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_every_task_of_the_suite_has_a_name_but_those_left_out(suite):
    names = {f"{domain}:{task}" for domain, task in suite.ALL_TASKS}
    assert names - set(control.game_names()) == {
        "lqr:lqr_2_1",
        "lqr:lqr_6_2",
        "quadruped:escape",
    }
    assert set(control.game_names()) <= names


def test_an_episode_ends_by_time_after_1000_steps_and_its_value_goes_on():
    environment = _make()
    timestep = environment.reset()
    num_steps = 0
    while not timestep.last():
        assert num_steps == 0 or timestep.discount == 1.0
        timestep = environment.step(np.zeros(1, np.float32))
        num_steps += 1
    assert num_steps == 1000
    assert timestep.discount == 1.0  # A truncation.
    assert environment.step(np.zeros(1, np.float32)).first()


def test_episodes_can_be_cut_earlier():
    environment = _make(max_episode_steps=3)
    environment.reset()
    steps = [environment.step(np.zeros(1, np.float32)) for _ in range(3)]
    assert [step.last() for step in steps] == [False, False, True]
    assert steps[-1].discount == 1.0


def test_the_parts_of_an_observation_come_in_the_order_of_their_names(suite):
    environment = suite.load("hopper", "stand", task_kwargs={"random": 5})
    parts = environment.reset().observation
    assert sorted(parts) == ["position", "touch", "velocity"]
    expected = np.concatenate([parts[name].ravel() for name in sorted(parts)])
    observation = _make("hopper:stand", seed=5).reset().observation
    np.testing.assert_array_equal(observation, expected.astype(np.float32))


def test_rewards_and_actions_are_those_of_the_suite(suite):
    theirs = suite.load("cartpole", "balance", task_kwargs={"random": 5})
    ours = _make(seed=5)
    theirs.reset()
    ours.reset()
    for action in (0.5, -0.25, 1.0):
        one, other = theirs.step([action]), ours.step(np.array([action], np.float32))
        np.testing.assert_allclose(other.reward, one.reward, rtol=1e-6)


def test_a_factory_that_was_pickled_makes_the_same_episodes():
    factory = registry.make_factory("control:reacher:easy")
    first, second = factory(7), pickle.loads(pickle.dumps(factory))(7)
    for _ in range(3):  # The target moves in every episode.
        one, other = first.reset(), second.reset()
        np.testing.assert_array_equal(one.observation, other.observation)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("control:cartpole:balanse", "did you mean 'cartpole:balance'"),
        ("control:cartpole", "did you mean 'cartpole:"),
        (
            "control:cartpole:balance:hard",
            "write 'control:cartpole:balance'",
        ),
        ("control:zzz", r"game_names\('control'\) lists all 48 games"),
        ("control", "Unknown control game ''"),
        ("controll:cartpole:balance", "did you mean 'control'"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_near(name, message):
    with pytest.raises(ValueError, match=message):
        registry.make_factory(name)


def test_an_empty_episode_is_refused():
    with pytest.raises(ValueError, match="max_episode_steps is 0"):
        registry.make_factory("control:cartpole:balance", max_episode_steps=0)


def test_a_factory_imports_no_mujoco_and_an_environment_no_opengl():
    """And it warns of nothing, such as a display that is missing."""
    printed = _run(
        """
        import sys
        from rlcomponents.environments import registry
        factory = registry.make_factory("control:cheetah:run")
        assert "mujoco" not in sys.modules
        environment = factory(0)
        environment.reset()
        environment.step([0.0] * 6)
        loaded = {name.partition(".")[0] for name in sys.modules}
        assert "mujoco" in loaded
        assert not loaded & {"OpenGL", "glfw", "tensorflow", "jax"}, loaded
        """
    )
    assert printed == ""


def test_a_picture_is_drawn_or_opengl_is_asked_for_and_nothing_is_left_behind():
    refusal = "No picture without OpenGL, and egl gives none\n"
    printed = _run(
        """
        import numpy as np
        from rlcomponents.environments import registry
        environment = registry.make_factory("control:cartpole:balance")(0)
        environment.reset()
        try:
            picture = environment.screen()
            print(picture.shape, picture.dtype, np.ptp(picture) > 50)
        except RuntimeError as error:
            print(str(error).partition(" (")[0])
        """
    )
    assert printed == ("(240, 320, 3) uint8 True\n" if _can_draw() else refusal)


def test_without_opengl_a_picture_is_refused_with_what_to_do():
    printed = _run(
        """
        import importlib.abc, sys

        class NoOpenGL(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == "OpenGL":
                    raise ModuleNotFoundError("No module named 'OpenGL'", name=name)

        sys.meta_path.insert(0, NoOpenGL())
        from rlcomponents.environments import registry
        environment = registry.make_factory("control:cartpole:balance")(0)
        environment.reset()
        try:
            environment.screen()
        except RuntimeError as error:
            print(error)
        environment.close()
        """
    )
    assert printed == (
        "No picture without OpenGL, and egl gives none (No module named 'OpenGL'): "
        "install libegl1 and libegl-mesa0, or set MUJOCO_GL to glfw or osmesa.\n"
    )
