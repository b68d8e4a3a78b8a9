"""The example is run as it stands: for a moment here, and to its end."""

import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).parents[2] / "examples" / "own_agent.py"


@pytest.fixture
def own_agent():
    spec = importlib.util.spec_from_file_location("own_agent", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_runs(own_agent):
    assert -1.0 <= own_agent.main(num_steps=200) <= 1.0


@pytest.mark.learning
def test_the_example_learns(own_agent):
    assert own_agent.main() >= 0.5
