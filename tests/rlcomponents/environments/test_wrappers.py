import dm_env
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.environments import atari, catch, wrappers
from rlcomponents.testing import environment_contract


class _Counter(dm_env.Environment):
    """Observes the number of the step, in one array that it writes into each time.

    The array is float64. Rewards are floats, but an integer at the last step. Actions
    are -1, 0 and 1.
    """

    def __init__(self, *, length=5, shape=(1,), nested=False):
        self.actions = []
        self._length = length
        self._nested = nested
        self._array = np.zeros(shape)
        self._count = -1

    def reset(self):
        self._count = 0
        return dm_env.restart(self._observe())

    def step(self, action):
        if self._count in (-1, self._length):
            return self.reset()
        self.actions.append(action)
        self._count += 1
        if self._count == self._length:
            return dm_env.termination(1, self._observe())
        return dm_env.transition(0.5, self._observe())

    def observation_spec(self):
        spec = dm_env_specs.Array(self._array.shape, np.float64, "count")
        return {"count": spec, "image": spec} if self._nested else spec

    def action_spec(self):
        return dm_env_specs.BoundedArray((), np.int64, -1, 1)

    def _observe(self):
        self._array[...] = self._count
        return (
            {"count": self._array, "image": self._array}
            if self._nested
            else (self._array)
        )


class TestAdaptedContract(environment_contract.EnvironmentContract, absltest.TestCase):
    different_seeds = None
    num_steps = 20

    def make_environment(self, seed):
        return wrappers.adapt(_Counter())


class _Reach(_Counter):
    """Takes a vector of doubles within bounds of its own in each dimension."""

    def action_spec(self):
        return dm_env_specs.BoundedArray((2,), np.float64, [-1.0, 0.0], [1.0, 0.1])


class TestAdaptedContinuousContract(
    environment_contract.ContinuousEnvironmentContract, absltest.TestCase
):
    different_seeds = None
    num_steps = 20

    def make_environment(self, seed):
        return wrappers.adapt(_Reach())


class TestFrameStackContract(
    environment_contract.EnvironmentContract, absltest.TestCase
):
    num_steps = 20

    def make_environment(self, seed):
        return wrappers.FrameStack(catch.Catch(catch.CatchSettings(), seed), 3)


class TestStepLimitContract(
    environment_contract.EnvironmentContract, absltest.TestCase
):
    num_steps = 20

    def make_environment(self, seed):
        return wrappers.StepLimit(catch.Catch(catch.CatchSettings(), seed), 4)


def _play(environment, num_steps):
    return [environment.reset()] + [environment.step(0) for _ in range(num_steps)]


def test_actions_that_do_not_start_at_zero_reach_the_environment_as_its_own():
    counter = _Counter()
    environment = wrappers.adapt(counter)
    environment.reset()
    for action in range(environment.action_spec().num_values):
        environment.step(np.int32(action))
    assert counter.actions == [-1, 0, 1]
    assert {action.dtype for action in counter.actions} == {np.dtype(np.int64)}


def test_actions_that_are_not_one_integer_are_refused():
    with pytest.raises(ValueError, match="needs one bounded integer"):
        wrappers.ActionOffset(_Reach())


@pytest.mark.parametrize(
    ("action", "received"),
    [
        pytest.param([0.5, 0.05], [0.5, 0.05], id="inside"),
        pytest.param([3.0, -0.5], [1.0, 0.0], id="outside"),
        pytest.param([-np.inf, np.inf], [-1.0, 0.1], id="far-outside"),
    ],
)
def test_continuous_actions_reach_the_environment_within_its_bounds(action, received):
    reach = _Reach()
    environment = wrappers.adapt(reach)
    environment.reset()
    environment.step(np.array(action, np.float32))
    np.testing.assert_allclose(reach.actions, [received])
    # To the last bit, though 0.1 in single precision is a little more.
    reach.action_spec().validate(reach.actions[0])


def test_continuous_actions_are_in_single_precision_with_the_bounds_they_had():
    spec = wrappers.adapt(_Reach()).action_spec()
    assert (spec.shape, spec.dtype) == ((2,), np.float32)
    np.testing.assert_array_equal(spec.minimum, np.float32([-1.0, 0.0]))
    np.testing.assert_array_equal(spec.maximum, np.float32([1.0, 0.1]))


@pytest.mark.parametrize("action", [[0.0], [[0.0, 0.0]], 0.0, [np.nan, 0.0]])
def test_actions_that_would_spread_or_are_not_numbers_are_refused(action):
    environment = wrappers.ClippedActions(_Reach())
    environment.reset()
    with pytest.raises(ValueError, match=r"numbers of shape \(2,\)"):
        environment.step(np.array(action, np.float32))


def test_actions_that_are_not_bounded_floats_are_not_clipped():
    with pytest.raises(ValueError, match="needs bounded floats"):
        wrappers.ClippedActions(_Counter())


def test_double_precision_and_an_integer_reward_become_single_precision():
    environment = wrappers.SinglePrecision(_Counter())
    steps = _play(environment, 5)
    assert environment.observation_spec().dtype == np.float32
    assert {step.observation.dtype for step in steps} == {np.dtype(np.float32)}
    assert {step.reward.dtype for step in steps[1:]} == {np.dtype(np.float32)}
    assert {step.discount.dtype for step in steps[1:]} == {np.dtype(np.float32)}
    assert [step.reward for step in steps[1:]] == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert steps[0].reward is None


def test_bounds_survive_in_single_precision():
    class Bounded(_Counter):
        def observation_spec(self):
            return dm_env_specs.BoundedArray((1,), np.float64, -2.0, np.inf)

    spec = wrappers.SinglePrecision(Bounded()).observation_spec()
    assert spec == dm_env_specs.BoundedArray((1,), np.float32, -2.0, np.inf)


def test_nested_observations_are_converted_leaf_by_leaf():
    environment = wrappers.SinglePrecision(_Counter(nested=True))
    step = _play(environment, 1)[-1]
    assert {spec.dtype.name for spec in environment.observation_spec().values()} == {
        "float32"
    }
    assert {leaf.dtype.name for leaf in step.observation.values()} == {"float32"}


def test_an_array_that_the_environment_overwrites_is_copied():
    steps = _play(wrappers.SinglePrecision(_Counter()), 3)
    assert [float(step.observation[0]) for step in steps] == [0.0, 1.0, 2.0, 3.0]


def test_a_wrapper_passes_on_what_else_the_environment_offers():
    environment = wrappers.SinglePrecision(catch.Catch(catch.CatchSettings(), 0))
    environment.reset()
    assert environment.screen().shape == (160, 80, 3)
    assert not hasattr(environment, "game_over")


@pytest.mark.parametrize(
    ("shape", "stacked"),
    [((3,), (3, 4)), ((6, 5), (6, 5, 4)), ((6, 5, 1), (6, 5, 4))],
)
def test_frames_are_stacked_on_the_last_axis(shape, stacked):
    environment = wrappers.FrameStack(_Counter(shape=shape), num_frames=4)
    spec = environment.observation_spec()
    assert isinstance(spec, specs.FrameStack)
    assert (spec.shape, spec.num_frames) == (stacked, 4)
    steps = _play(environment, 8)
    newest = [step.observation[(0,) * (len(stacked) - 1)].tolist() for step in steps]
    assert steps[0].observation.shape == stacked
    assert newest[:3] == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2]]
    # The episode ends with step 5; the next starts with copies of its own first frame.
    assert newest[5:8] == [[2, 3, 4, 5], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_a_stack_keeps_the_bounds_of_its_frame():
    class Bounded(_Counter):
        def observation_spec(self):
            return dm_env_specs.BoundedArray((2,), np.float64, [-1, -2], 9)

    spec = wrappers.FrameStack(Bounded(shape=(2,)), 3).observation_spec()
    np.testing.assert_array_equal(spec.minimum, [[-1], [-2]])
    assert spec.maximum == 9


def test_bytes_without_bounds_get_those_of_their_type():
    class Bytes(_Counter):
        def observation_spec(self):
            return dm_env_specs.Array((6, 5), np.uint8)

    spec = wrappers.FrameStack(Bytes(), 3).observation_spec()
    assert (spec.minimum, spec.maximum) == (0, 255)


def test_frames_in_colour_and_nested_ones_are_not_stacked():
    with pytest.raises(ValueError, match=r"shape \(6, 5, 3\): turn it into luminance"):
        wrappers.FrameStack(_Counter(shape=(6, 5, 3)), 4)
    with pytest.raises(ValueError, match="one array as the observation"):
        wrappers.FrameStack(_Counter(nested=True), 4)


def test_a_step_limit_keeps_the_real_last_observation():
    counter = _Counter(length=100)
    environment = wrappers.SinglePrecision(wrappers.StepLimit(counter, max_steps=5))
    steps = _play(environment, 7)
    assert [float(step.observation[0]) for step in steps] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert [step.last() for step in steps] == [False] * 5 + [True, False, False]
    assert steps[5].discount == 1.0
    assert steps[6].first()


def test_an_end_at_the_limit_is_still_a_termination():
    steps = _play(wrappers.StepLimit(_Counter(length=5), max_steps=5), 5)
    assert steps[5].last()
    assert steps[5].discount == 0.0


def test_the_limit_counts_from_the_start_of_each_episode():
    steps = _play(wrappers.StepLimit(_Counter(length=3), max_steps=5), 8)
    assert [step.last() for step in steps].count(True) == 2
    assert {step.discount for step in steps if step.last()} == {0.0}


def test_a_cut_ends_the_game_even_between_lost_lives():
    settings = atari.AtariSettings(terminal_on_life_loss=True)
    environment = wrappers.StepLimit(atari.make("breakout", settings, 0), max_steps=2)
    environment.reset()
    environment.step(0)
    assert not environment.game_over
    assert environment.step(0).last()
    assert environment.game_over
    assert environment.frames_per_step == 4


def test_a_lost_life_within_the_limit_is_not_the_end_of_the_game():
    class Lives(_Counter):
        game_over = False  # Each end of an episode is a mere life loss.

    environment = wrappers.StepLimit(Lives(length=3), max_steps=5)
    assert _play(environment, 3)[-1].last()
    assert not environment.game_over


def test_a_first_episode_may_be_cut_sooner_than_the_others():
    environment = wrappers.StepLimit(
        _Counter(length=100), max_steps=4, first_max_steps=2
    )
    steps = _play(environment, 12)
    assert [i for i, step in enumerate(steps) if step.last()] == [2, 7, 12]


def test_the_first_episode_is_over_even_where_it_ends_by_itself():
    environment = wrappers.StepLimit(_Counter(length=3), max_steps=2, first_max_steps=9)
    steps = _play(environment, 6)
    ends = [(i, step.discount) for i, step in enumerate(steps) if step.last()]
    assert ends == [(3, 0.0), (6, 1.0)]


@pytest.mark.parametrize(("max_steps", "first_max_steps"), [(0, None), (5, 0)])
def test_a_step_limit_below_one_is_refused(max_steps, first_max_steps):
    with pytest.raises(ValueError, match=r"max_steps is 0|first_max_steps 0"):
        wrappers.StepLimit(_Counter(), max_steps, first_max_steps=first_max_steps)
