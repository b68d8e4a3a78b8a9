import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from rlcomponents.environments import registry


@pytest.fixture
def user_directory(tmp_path, monkeypatch):
    """A current directory with the user's module `mygames` in it."""
    (tmp_path / "mygames.py").write_text(
        textwrap.dedent(
            """
            import dm_env, numpy as np
            from dm_env import specs

            class Offset(dm_env.Environment):
                def __init__(self, seed):
                    self.seed, self.actions = seed, []
                def reset(self):
                    return dm_env.restart(np.zeros(2))
                def step(self, action):
                    self.actions.append(action)
                    return dm_env.transition(1, np.zeros(2))
                def observation_spec(self):
                    return specs.Array((2,), np.float64)
                def action_spec(self):
                    return specs.BoundedArray((), np.int64, -1, 1)

            def make(seed):
                return Offset(seed)

            def make_nothing(seed):
                return None

            NUMBER = 3
            """
        )
    )
    (tmp_path / "broken_game.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("mygames", "broken_game"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("atari:pong", (84, 84, 4)),
        ("minatar:breakout", (10, 10, 4)),
        ("catch", (10, 5)),
        ("catch:blind", (10, 5)),
    ],
)
def test_a_name_becomes_a_factory_that_can_be_pickled(name, shape):
    factory = pickle.loads(pickle.dumps(registry.make_factory(name)))
    environment = factory(7)
    assert environment.reset().observation.shape == shape
    assert environment.screen().shape[-1] == 3


def test_settings_reach_the_environment():
    factory = registry.make_factory("atari:pong", stack_frames=2, full_action_set=True)
    environment = factory(0)
    assert environment.observation_spec().num_frames == 2
    assert environment.action_spec().num_values == 18


def test_the_seed_reaches_the_environment():
    factory = registry.make_factory("catch")
    boards = [factory(seed).reset().observation for seed in range(20)]
    assert any(not np.array_equal(boards[0], board) for board in boards)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("atari:pongg", r"Unknown atari game 'pongg' \(did you mean 'pong'"),
        ("atari:Pong", r"did you mean 'pong'"),
        ("atari:SpaceInvadersNoFrameskip-v4", r"did you mean 'space_invaders'"),
        ("atari:zzz", r"game_names\('atari'\) lists all 104 games"),
        ("atari:", r"Unknown atari game ''"),
        ("atari", r"Unknown atari game ''"),
        ("atari:pong:hard", r"atari has no variants; write 'atari:pong'"),
        ("minatar:pong", r"the games are asterix, breakout, freeway"),
        ("minatar:space-invaders", r"did you mean 'space_invaders'"),
        ("atarii:pong", r"no suite 'atarii' \(did you mean 'atari'"),
        ("pong", r"The suites are atari, catch, control, minatar, module"),
        ("catch:small", r"no variant 'small'; write 'catch' or 'catch:blind'"),
        ("catch:blind:small", r"catch is one game and has no variant 'blind:small'"),
        ("module:mygames", r"write 'module:package.module:function'"),
        ("", r"Unknown environment ''"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_near(name, message):
    with pytest.raises(ValueError, match=message):
        registry.make_factory(name)


def test_a_setting_that_the_suite_does_not_know_is_refused():
    with pytest.raises(
        ValueError, match=r"catch has no setting 'num_rows'.*are rows, columns"
    ):
        registry.make_factory("catch", num_rows=3)


def test_a_variant_is_settings_by_a_name():
    environment = registry.make_factory("catch:blind", rows=4)(0)
    assert environment.reset().observation.sum() == 2.0
    assert environment.step(1).observation.sum() == 1.0  # No ball any more.
    assert environment.observation_spec().shape == (4, 5)


def test_what_a_variant_sets_cannot_be_set_again():
    with pytest.raises(
        ValueError, match=r"catch:blind has no setting 'ball_visible_rows'"
    ):
        registry.make_factory("catch:blind", ball_visible_rows=2)


def test_a_bad_value_of_a_setting_is_refused_at_once():
    with pytest.raises(ValueError, match="max_null_ops_frames is -1"):
        registry.make_factory("atari:pong", max_null_ops_frames=-1)


def test_the_suite_is_the_first_word_of_a_name():
    assert registry.suite("atari:pong") == "atari"
    assert registry.suite("catch") == "catch"
    assert registry.suite("module:my.games:make") == "module"


def test_the_names_of_a_suite_can_be_listed():
    assert "atari:pong" in registry.game_names("atari")
    assert registry.game_names("minatar")[1] == "minatar:breakout"
    assert registry.game_names("catch") == ("catch", "catch:blind")
    assert "control:cartpole:balance" in registry.game_names("control")
    assert registry.game_names("module") == ()


def test_a_users_module_is_found_in_the_current_directory(user_directory):
    factory = registry.make_factory("module:mygames:make")
    assert factory(5).seed == 5


def test_a_users_factory_works_in_a_process_started_elsewhere(user_directory):
    factory = registry.make_factory("module:mygames:make")
    program = (
        "import pickle, sys; factory = pickle.load(sys.stdin.buffer);"
        "assert factory(5).reset().first()"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(factory),
        cwd="/",
        env={"PYTHONPATH": ":".join(sys.path[:-1])},
        check=True,
    )


def test_a_users_environment_comes_in_single_precision_and_its_actions_from_zero(
    user_directory,
):
    environment = registry.make_factory("module:mygames:make")(0)
    assert environment.action_spec().num_values == 3
    assert environment.observation_spec().dtype == np.float32
    assert environment.reset().observation.dtype == np.float32
    assert environment.step(0).reward.dtype == np.float32
    assert environment.actions == [-1]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("module:mygame:make", ModuleNotFoundError, "no module 'mygame' in the curr"),
        ("module:mygames.a:make", ModuleNotFoundError, "no module 'mygames.a'"),
        ("module:mygames:makes", ValueError, "has no 'makes' .did you mean 'make'"),
        ("module:mygames:NUMBER", ValueError, "'NUMBER' is a int; it must be a func"),
    ],
)
def test_a_users_factory_that_is_not_there_is_refused_in_one_sentence(
    user_directory, name, error, message
):
    with pytest.raises(error, match=message):
        registry.make_factory(name)


def test_an_error_inside_a_users_module_is_shown_as_it_is(user_directory):
    with pytest.raises(
        ModuleNotFoundError, match=r"^No module named 'no_such_package'"
    ):
        registry.make_factory("module:broken_game:make")


def test_a_users_factory_that_returns_no_environment_is_refused(user_directory):
    factory = registry.make_factory("module:mygames:make_nothing")
    with pytest.raises(ValueError, match=r"NoneType is no dm_env\.Environment"):
        factory(0)


def test_a_users_factory_takes_no_settings(user_directory):
    sentence = "make takes no setting 'rows': leave it out; your factory decides"
    with pytest.raises(ValueError, match=f"^module:mygames:{sentence}"):
        registry.make_factory("module:mygames:make", rows=3)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("atari:pong", "ale_py"),
        ("control:cartpole:balance", "dm_control"),
        ("minatar:breakout", "minatar"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(name, package):
    suite = name.partition(":")[0]
    program = textwrap.dedent(
        f"""
        import importlib.abc, sys

        class Missing(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == {package!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

        sys.meta_path.insert(0, Missing())
        from rlcomponents.environments import registry
        try:
            registry.make_factory({name!r})
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == (
        f"The {suite} environments need the package {package!r}: "
        f"run .venv/bin/pip install -e '.[{suite}]' in the project's folder."
    )


def test_all_settings_of_an_environment_are_known():
    assert registry.all_settings("catch:blind", rows=5) == {
        "rows": 5,
        "columns": 5,
        "ball_visible_rows": 1,
    }


def test_a_users_own_environment_has_no_settings():
    assert registry.all_settings("module:math:sin") == {}
