"""What the tests of the house rules share."""

import pathlib

import pytest

SOURCES = ("rlcomponents", "agents", "launch", "experiments")


@pytest.fixture(scope="session")
def project_root() -> pathlib.Path:
    return pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def pages(project_root) -> list[pathlib.Path]:
    """Every Markdown page of the project."""
    folders = [project_root / name for name in ("docs", *SOURCES)]
    nested = [page for folder in folders for page in sorted(folder.rglob("*.md"))]
    return [*sorted(project_root.glob("*.md")), *nested]
