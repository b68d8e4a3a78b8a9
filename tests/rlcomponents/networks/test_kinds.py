import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.networks import kinds

ATARI = ((84, 84, 4), np.uint8)
MINATAR = ((10, 10, 4), bool)
VECTOR = ((5,), np.float32)
CATCH = ((10, 5), np.float32)


def _environment_spec(shape, dtype, num_actions=6):
    return specs.EnvironmentSpec(
        observations=dm_env_specs.Array(shape, dtype),
        actions=dm_env_specs.DiscreteArray(num_actions),
        rewards=dm_env_specs.Array((), np.float32),
        discounts=dm_env_specs.BoundedArray((), np.float32, 0.0, 1.0),
    )


@pytest.mark.parametrize(
    ("convolutions", "size", "left"),
    [
        (kinds.NATURE_DQN, 84, 7),  # 84 -> 20 -> 9 -> 7
        (kinds.NATURE_DQN, 36, 1),  # 36 -> 8 -> 3 -> 1
        (kinds.NATURE_DQN, 35, 0),  # 35 -> 7 -> 2 -> 0
        (kinds.NIPS_DQN, 84, 9),  # 84 -> 20 -> 9
        (kinds.MINATAR, 10, 8),
    ],
)
def test_output_size_is_what_the_convolutions_leave(convolutions, size, left):
    assert kinds.output_size(convolutions, size) == left


@pytest.mark.parametrize(
    ("shape", "dtype", "kind"),
    [
        pytest.param(*ATARI, "nature_dqn", id="atari"),
        pytest.param((64, 64, 3), np.uint8, "nature_dqn", id="another-image"),
        pytest.param(*MINATAR, "minatar", id="minatar"),
        pytest.param((36, 40, 1), np.uint8, "nature_dqn", id="smallest-for-nature"),
        pytest.param((35, 40, 1), np.uint8, "minatar", id="too-small-for-nature"),
        pytest.param((3, 8, 3), np.float32, "minatar", id="smallest-for-minatar"),
        pytest.param((2, 8, 3), np.float32, "mlp", id="too-small-for-any-convolution"),
        pytest.param(*CATCH, "mlp", id="catch"),
        pytest.param(*VECTOR, "mlp", id="vector"),
        pytest.param((), np.float32, "mlp", id="scalar"),
    ],
)
def test_the_default_kind_fits_the_observations(shape, dtype, kind):
    spec = _environment_spec(shape, dtype)
    assert kinds.default_kind(spec) == kind
    kinds.check(kind, spec)


def test_an_image_without_channel_axis_is_refused_with_its_shape_and_what_to_do():
    spec = _environment_spec((84, 84), np.uint8)
    for build in (
        lambda: kinds.check("nature_dqn", spec),
        lambda: kinds.default_kind(spec),
    ):
        with pytest.raises(
            ValueError, match=r"shape \(84, 84\) .* \[H, W, 1\] .*\.FrameStack"
        ):
            build()


@pytest.mark.parametrize(
    ("kind", "shape", "dtype", "message"),
    [
        pytest.param("natur_dqn", *ATARI, "mean 'nature_dqn'", id="near-name"),
        pytest.param("resnet", *ATARI, "use one of nature_dqn", id="unknown-name"),
        pytest.param(
            "nature_dqn", *MINATAR, r"\(10, 10, 4\) to nothing", id="too-small"
        ),
        pytest.param("minatar", *VECTOR, r"shape \(5,\): use 'mlp'", id="vector"),
        pytest.param("mlp", (5,), np.int32, "int32: give uint8", id="integers"),
    ],
)
def test_kinds_that_do_not_fit_are_refused(kind, shape, dtype, message):
    with pytest.raises(ValueError, match=message):
        kinds.check(kind, _environment_spec(shape, dtype))


def test_continuous_actions_are_refused():
    spec = _environment_spec(*VECTOR)._replace(
        actions=dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0)
    )
    with pytest.raises(ValueError, match="finite number of actions"):
        kinds.check("mlp", spec)


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param(dm_env_specs.DiscreteArray(3), id="discrete"),
        pytest.param(
            dm_env_specs.BoundedArray((2,), np.float32, -1.0, 1.0), id="continuous"
        ),
        pytest.param(
            dm_env_specs.BoundedArray((1,), np.float64, -1.0, 1.0), id="double"
        ),
    ],
)
def test_actor_critics_take_numbered_actions_and_vectors(actions):
    spec = _environment_spec(*VECTOR)._replace(actions=actions)
    kinds.check_actor_critic("mlp", spec)


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param(
            dm_env_specs.BoundedArray((), np.int32, -1, 1), id="not-numbered-from-zero"
        ),
        pytest.param(
            dm_env_specs.BoundedArray((2,), np.int32, 0, 1), id="several-numbers"
        ),
        pytest.param(dm_env_specs.BoundedArray((), np.float32, -1, 1), id="no-vector"),
        pytest.param(dm_env_specs.BoundedArray((2, 2), np.float32, -1, 1), id="matrix"),
        pytest.param(dm_env_specs.BoundedArray((0,), np.float32, -1, 1), id="empty"),
        pytest.param({"go": dm_env_specs.DiscreteArray(3)}, id="nested"),
    ],
)
def test_actor_critics_refuse_other_actions(actions):
    spec = _environment_spec(*VECTOR)._replace(actions=actions)
    with pytest.raises(ValueError, match=r"DiscreteArray and one for a vector \[D\]"):
        kinds.check_actor_critic("mlp", spec)


def test_actor_critics_refuse_what_q_networks_refuse_of_observations():
    with pytest.raises(ValueError, match="to nothing"):
        kinds.check_actor_critic("nature_dqn", _environment_spec(*MINATAR))


def test_nested_observations_are_refused():
    spec = _environment_spec(*VECTOR)
    spec = spec._replace(observations={"position": spec.observations})
    for build in (
        lambda: kinds.check("mlp", spec),
        lambda: kinds.check_actor_critic("mlp", spec),
        lambda: kinds.default_kind(spec),
    ):
        with pytest.raises(ValueError, match="The observations are a dict"):
            build()
