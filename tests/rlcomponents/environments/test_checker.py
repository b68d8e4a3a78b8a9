import dm_env
import numpy as np
import pytest
from dm_env import specs

from rlcomponents.environments import catch, checker, wrappers


class _User(dm_env.Environment):
    """A correct environment, of which each test spoils one thing."""

    def __init__(self, **spoilt):
        self._spoilt = spoilt
        self._count = -1

    def _get(self, name, default):
        return self._spoilt.get(name, default)

    def reset(self):
        self._count = 0
        first = dm_env.restart(self._observe())
        return self._get("first", lambda step: step)(first)

    def step(self, action):
        if self._count in (-1, 5):
            return self.reset()
        self._count += 1
        make = dm_env.termination if self._count == 5 else dm_env.transition
        step = make(0.5, self._observe())
        return self._get("then", lambda step, count: step)(step, self._count)

    def observation_spec(self):
        return self._get("observation_spec", specs.Array((3,), np.float32))

    def action_spec(self):
        return self._get("action_spec", specs.DiscreteArray(3))

    def _observe(self):
        return self._get("observe", lambda: np.zeros(3, np.float32))()


def _with(**fields):
    return lambda step: step._replace(**fields)


def _at(count, **fields):
    return lambda step, now: step._replace(**fields) if now == count else step


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(_User(), id="discrete"),
        pytest.param(
            _User(action_spec=specs.BoundedArray((2,), np.float64, -1, 1)),
            id="continuous",
        ),
        pytest.param(
            _User(action_spec=specs.BoundedArray((), np.int64, -1, 1)), id="offset"
        ),
        pytest.param(
            _User(
                observation_spec={
                    "a": specs.Array((3,), np.float32),
                    "b": [specs.BoundedArray((2, 2, 1), np.uint8, 0, 255)],
                },
                observe=lambda: {
                    "a": np.zeros(3, np.float32),
                    "b": [np.zeros((2, 2, 1), np.uint8)],
                },
            ),
            id="nested",
        ),
        pytest.param(_User(then=_at(5, reward=1)), id="integer-reward"),
        pytest.param(catch.Catch(catch.CatchSettings(), 0), id="catch"),
    ],
)
def test_a_correct_environment_passes(environment):
    checker.check(environment, steps=30)


class _NoSpecs:
    """What a factory of another library might return."""

    def reset(self):
        return np.zeros(3), {}

    def step(self, action):
        return np.zeros(3), 0.0, False, {}


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        pytest.param(
            _NoSpecs(),
            r"_NoSpecs is no dm_env\.Environment, it has no observation_spec, act",
            id="another-library",
        ),
        pytest.param(
            _User(action_spec=None), r"action_spec\(\) is None; it must", id="no-action"
        ),
        pytest.param(
            _User(action_spec=specs.Array((2,), np.float32)),
            r"action_spec\(\) has no bounds",
            id="unbounded-action",
        ),
        pytest.param(
            _User(action_spec=specs.BoundedArray((2,), np.float32, -np.inf, np.inf)),
            "has infinite bounds",
            id="infinite-action",
        ),
        pytest.param(
            _User(action_spec=specs.BoundedArray((2,), np.int32, 0, 3)),
            "a discrete action must be a single number",
            id="several-discrete-actions",
        ),
        pytest.param(
            _User(observation_spec=None),
            r"observation_spec\(\) gives None for the observation",
            id="no-observation",
        ),
        pytest.param(
            _User(observation_spec={}), "agents need something to see", id="empty"
        ),
        pytest.param(
            _User(observation_spec={"view": specs.Array((84, 84), np.uint8)}),
            r"observation/view of shape \(84, 84\) .*FrameStack\(environment, num_fram",
            id="image-without-channels",
        ),
    ],
)
def test_specs_that_no_agent_can_use_are_refused(environment, message):
    with pytest.raises(ValueError, match=message):
        checker.check_specs(environment)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        pytest.param(
            _User(first=_with(reward=0.0)),
            "A FIRST step carries reward 0.0 and discount None at step 0",
            id="reward-on-first",
        ),
        pytest.param(
            _User(first=_with(step_type=dm_env.StepType.MID, reward=0.0, discount=1.0)),
            r"reset\(\) returned a time step of type MID",
            id="reset-not-first",
        ),
        pytest.param(
            _User(first=lambda step: step.observation),
            r"it must be a dm_env\.TimeStep",
            id="no-time-step",
        ),
        pytest.param(
            _User(then=_at(4, reward=np.nan)),
            "The reward is nan at step 4",
            id="nan-reward",
        ),
        pytest.param(
            _User(then=_at(2, reward=None)),
            "The reward is None at step 2; it must be one number",
            id="no-reward",
        ),
        pytest.param(
            _User(then=_at(2, reward=np.zeros(1))),
            "must be one number",
            id="reward-of-one-axis",
        ),
        pytest.param(
            _User(then=_at(3, discount=1.5)),
            "The discount is 1.5 at step 3",
            id="discount-above-one",
        ),
        pytest.param(
            _User(observe=lambda: np.zeros(3)),
            r"dtype float64 at step 0; observation_spec\(\) says \(3,\) and float32",
            id="other-dtype",
        ),
        pytest.param(
            _User(observe=lambda: np.zeros(4, np.float32)),
            r"The observation has shape \(4,\)",
            id="other-shape",
        ),
        pytest.param(
            _User(observe=lambda: {"a": np.zeros(3, np.float32)}),
            "not nested as observation_spec",
            id="other-nest",
        ),
        pytest.param(
            _User(then=_at(2, observation=np.float32([0, np.inf, np.nan]))),
            "The observation is not finite at step 2: 2 of its 3 values",
            id="nan-observation",
        ),
        pytest.param(
            _User(observation_spec=specs.BoundedArray((3,), np.float32, 1, 2)),
            "leaves the bounds .* at step 0: its values are 0.0 to 0.0",
            id="out-of-bounds",
        ),
        pytest.param(
            _User(
                observation_spec=specs.BoundedArray((1, 1, 1), np.uint8, 0, 9),
                observe=lambda: np.full((1, 1, 1), 10, np.uint8),
            ),
            "leaves the bounds .* at step 0: its values are 10 to 10",
            id="byte-above-its-bound",
        ),
        pytest.param(
            _User(
                observation_spec=specs.BoundedArray((1, 1, 1), np.uint8, 1, 255),
                observe=lambda: np.zeros((1, 1, 1), np.uint8),
            ),
            "leaves the bounds .* at step 0: its values are 0 to 0",
            id="byte-below-its-bound",
        ),
        pytest.param(
            _User(
                observation_spec=specs.BoundedArray((1, 1, 2), np.uint8, 0, [9, 255]),
                observe=lambda: np.full((1, 1, 2), 10, np.uint8),
            ),
            "leaves the bounds .* at step 0: its values are 10 to 10",
            id="byte-above-the-bound-of-its-place",
        ),
        pytest.param(
            _User(then=_at(5, step_type=dm_env.StepType.MID)),
            "step 6 returned a FIRST step after a MID one",
            id="reset-without-last",
        ),
        pytest.param(
            _User(then=_at(2, step_type=dm_env.StepType.LAST)),
            "step 3 returned a MID step after a LAST one",
            id="no-reset-after-last",
        ),
    ],
)
def test_a_wrong_time_step_is_named(environment, message):
    with pytest.raises(ValueError, match=message):
        checker.check(environment, steps=30)


@pytest.mark.parametrize(
    ("end", "error", "message"),
    [
        (2, ValueError, r"after a LAST step, raised IndexError .* return reset\(\)"),
        (9, IndexError, "off the board"),
    ],
)
def test_a_step_into_the_next_episode_that_fails_is_told_from_others(
    end, error, message
):
    def then(step, count):
        if count == 3:
            raise IndexError("off the board")
        return step._replace(step_type=dm_env.StepType.LAST) if count == end else step

    with pytest.raises(error, match=message):
        checker.check(_User(then=then))


def _overwriting():
    array = np.zeros(3, np.float32)

    def observe():
        array[:] += 1
        return array

    return _User(observe=observe)


def test_an_observation_that_is_overwritten_is_noticed():
    with pytest.raises(ValueError, match="step 1 wrote into the observation"):
        checker.check(_overwriting())


def test_the_wrapper_that_the_message_names_mends_it():
    checker.check(wrappers.SinglePrecision(_overwriting()))


def test_a_fault_after_the_steps_played_is_not_found():
    checker.check(_User(then=_at(4, reward=np.nan)), steps=3)
