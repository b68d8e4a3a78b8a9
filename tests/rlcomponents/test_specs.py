import pickle
import subprocess
import sys

import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.environments import catch


def test_a_frame_stack_counts_the_frames_of_its_last_axis():
    spec = specs.FrameStack((84, 84, 4), np.uint8, 0, 255, "frames")
    assert spec.num_frames == 4
    assert isinstance(spec, dm_env_specs.BoundedArray)


def test_a_frame_stack_survives_pickling_as_what_it_is():
    spec = specs.FrameStack((5, 3), np.float32, -1.0, [1.0, 2.0, 3.0], "frames")
    copy = pickle.loads(pickle.dumps(spec))
    assert type(copy) is specs.FrameStack
    assert copy == spec
    assert copy.name == "frames"


def test_a_frame_stack_can_be_replaced_like_any_spec():
    spec = specs.FrameStack((84, 84, 4), np.uint8, 0, 255, "frames")
    copy = spec.replace(name="pixels")
    assert type(copy) is specs.FrameStack
    assert copy.num_frames == 4


@pytest.mark.parametrize("shape", [(), (84, 84, 0)])
def test_an_empty_frame_stack_is_refused(shape):
    with pytest.raises(ValueError, match="holds no frame"):
        specs.FrameStack(shape, np.uint8, 0, 255)


def test_make_environment_spec_collects_the_four_specs():
    environment = catch.Catch(catch.CatchSettings(), seed=0)
    spec = specs.make_environment_spec(environment)
    assert spec.observations == environment.observation_spec()
    assert spec.actions == environment.action_spec()
    assert spec.rewards == environment.reward_spec()
    assert spec.discounts == environment.discount_spec()


def test_specs_and_wrappers_import_without_launchpad_reverb_and_ale():
    program = """
import sys
for name in ("launchpad", "reverb", "ale_py", "minatar", "tensorflow"):
    sys.modules[name] = None  # Importing it raises ImportError.
from rlcomponents import specs
from rlcomponents.environments import catch, checker, registry, wrappers
registry.make_factory("catch")(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
