"""Every import-linter contract catches a violation that is planted for it."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import tomli

PACKAGES = ("rlcomponents", "agents", "launch", "experiments")

# Contract: the file that gets the forbidden import, and what it imports.
PLANTS = {
    "top": ("rlcomponents/schedules.py", "agents.dqn"),
    "components": ("rlcomponents/core.py", "rlcomponents.runs.metrics"),
    "agents": ("agents/dqn/config.py", "agents.gorila_dqn.config"),
    "losses": ("rlcomponents/losses/value_learning.py", "sonnet"),
    "light": ("rlcomponents/exploration.py", "launchpad"),
    "no-tensorflow": ("rlcomponents/runs/metrics.py", "tensorflow"),
    "launchpad": ("rlcomponents/actors/epsilon_greedy.py", "launchpad"),
    "reverb": ("rlcomponents/learners/dqn.py", "reverb"),
    "emulators": ("rlcomponents/networks/heads.py", "ale_py"),
}


def contracts(project_root: pathlib.Path) -> dict[str, str]:
    """Returns the name of each contract by its id."""
    settings = tomli.loads((project_root / "pyproject.toml").read_text())["tool"]
    return {each["id"]: each["name"] for each in settings["importlinter"]["contracts"]}


@pytest.fixture(scope="module")
def report(project_root, tmp_path_factory) -> str:
    """What lint-imports says about a copy that holds all the violations."""
    copy = tmp_path_factory.mktemp("planted")
    shutil.copy(project_root / "pyproject.toml", copy)
    for package in PACKAGES:
        shutil.copytree(
            project_root / package,
            copy / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for path, imported in PLANTS.values():
        with (copy / path).open("a") as file:
            file.write(f"\nimport {imported}\n")
    command = pathlib.Path(sys.executable).with_name("lint-imports")
    finished = subprocess.run(
        [command, "--no-logo", "--no-cache"],
        cwd=copy,
        env={"COLUMNS": "200"},  # No line of the report is broken in two.
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 1, finished.stdout + finished.stderr
    return finished.stdout


def test_every_contract_has_a_planted_violation(project_root):
    assert contracts(project_root).keys() == PLANTS.keys()


@pytest.mark.parametrize("contract", PLANTS)
def test_planted_violation_is_caught(contract, project_root, report):
    path, imported = PLANTS[contract]
    importer = path.removesuffix(".py").replace("/", ".")
    name = contracts(project_root)[contract]
    _, _, details = report.partition("Broken contracts")
    # A contract's section goes from its underlined name to the next underlined line.
    sections = re.split(r"\n([^\n]+)\n-+\n", details)
    section = dict(zip(sections[1::2], sections[2::2], strict=True))[name]
    assert re.search(rf"{importer}\W+->\W+{imported}\b", section), section
