"""What is tracked, and that the lock and pyproject.toml agree."""

import itertools
import pathlib
import re
import subprocess
import sys

import pytest
import tomli
from packaging import requirements

# A folder of one person's machine; the host of a package registry.
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:home|root|Users|work)/\w")
REGISTRY = re.compile(r"\b(?:pypi\.|pythonhosted\.|\w+/simple/)|--(?:extra-)?index-url")


def tracked_files(project_root: pathlib.Path) -> list[pathlib.Path]:
    """Returns the text files that git knows, but this one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=project_root, capture_output=True, check=True
    )
    paths = [project_root / name for name in listed.stdout.decode().split("\0") if name]
    return [
        path
        for path in paths
        if path.is_file()
        and path != pathlib.Path(__file__)
        and b"\0" not in path.read_bytes()
    ]


def mentions(pattern: re.Pattern[str], project_root: pathlib.Path) -> list[str]:
    """Returns `path:line: text` of each line that matches."""
    return [
        f"{path.relative_to(project_root)}:{number}: {line.strip()}"
        for path in tracked_files(project_root)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_path_of_a_machine_is_tracked(project_root):
    assert mentions(MACHINE_PATH, project_root) == []


def test_no_registry_host_is_tracked(project_root):
    assert mentions(REGISTRY, project_root) == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (MACHINE_PATH, 'open("/home/ada/project/x.csv")'),
        (REGISTRY, "--index-url https://example.org"),
        (REGISTRY, "https://files.python" + "hosted.org/packages"),
    ],
)
def test_planted_mention_is_caught(pattern, line):
    assert pattern.search(line)


def locked(project_root: pathlib.Path) -> dict[str, str]:
    """Returns the version of each package in the lock, by its normalised name."""
    lines = (project_root / "requirements.lock").read_text().splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in pins}


def test_lock_holds_nothing_but_exact_versions(project_root):
    lines = (project_root / "requirements.lock").read_text().splitlines()
    pin = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+")
    assert [x for x in lines if not x.startswith("#") and not pin.fullmatch(x)] == []


def test_lock_satisfies_pyproject(project_root):
    project = tomli.loads((project_root / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    pins = locked(project_root)
    for text in itertools.chain(*groups):
        requirement = requirements.Requirement(text)
        if requirement.name != project["name"]:  # `all` names our own extras.
            assert requirement.specifier.contains(pins[requirement.name.lower()]), text


def test_packages_import_from_any_directory(tmp_path):
    subprocess.run(
        [sys.executable, "-c", "import agents, experiments, launch, rlcomponents"],
        cwd=tmp_path,
        check=True,
    )


def test_every_make_target_is_described(project_root):
    makefile = (project_root / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    described = re.findall(r"^([a-z-]+):.*## .", makefile, re.MULTILINE)
    assert sorted(described) == sorted(targets)


def test_every_folder_of_code_is_a_package(project_root):
    missing = [
        str(folder.relative_to(project_root))
        for package in ("rlcomponents", "agents", "launch", "experiments")
        for folder in {path.parent for path in (project_root / package).rglob("*.py")}
        if not (folder / "__init__.py").exists()
    ]
    assert missing == []
