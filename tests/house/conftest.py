"""What the tests of the house rules share."""

import pathlib

import pytest


@pytest.fixture(scope="session")
def project_root() -> pathlib.Path:
    return pathlib.Path(__file__).parents[2]
