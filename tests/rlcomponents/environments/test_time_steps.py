import dm_env
import numpy as np
import pytest

from rlcomponents.environments import time_steps


@pytest.mark.parametrize(
    ("make", "step_type", "discount"),
    [
        (time_steps.transition, dm_env.StepType.MID, 1.0),
        (time_steps.termination, dm_env.StepType.LAST, 0.0),
        (time_steps.truncation, dm_env.StepType.LAST, 1.0),
    ],
)
def test_a_time_step_is_of_its_type_and_conforms_to_the_specs(
    make, step_type, discount
):
    timestep = make(3, "observation")
    assert timestep.step_type is step_type
    assert timestep.observation == "observation"
    assert time_steps.reward_spec().validate(timestep.reward) == 3.0
    assert time_steps.discount_spec().validate(timestep.discount) == discount


def test_rewards_and_discounts_are_single_precision():
    assert time_steps.reward_spec().dtype == np.float32
    assert time_steps.discount_spec().dtype == np.float32
