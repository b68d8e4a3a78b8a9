"""The built wheel holds all packages, with their data."""

import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

PACKAGES = ("rlcomponents", "agents", "launch", "experiments")


@pytest.fixture(scope="module")
def unpacked(project_root, tmp_path_factory) -> pathlib.Path:
    """The content of a wheel that was built from a copy of the sources."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(project_root / name, source)
    for package in PACKAGES:
        shutil.copytree(
            project_root / package,
            source / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", source],
        check=True,
        capture_output=True,
    )
    (wheel,) = (source / "dist").glob("*.whl")
    content = tmp_path_factory.mktemp("wheel")
    zipfile.ZipFile(wheel).extractall(content)
    return content


@pytest.mark.integration
def test_wheel_holds_every_file_of_the_packages(project_root, unpacked):
    def files(root: pathlib.Path) -> set[str]:
        return {
            str(path.relative_to(root))
            for package in PACKAGES
            for path in (root / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    assert files(unpacked) == files(project_root)


@pytest.mark.integration
def test_packages_import_from_the_wheel(unpacked, tmp_path):
    code = (
        "import agents, experiments, launch, rlcomponents.core as c; print(c.__file__)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert pathlib.Path(finished.stdout.strip()).is_relative_to(unpacked)
