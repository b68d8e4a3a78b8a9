"""Where things are: flags in launch/ only, and a test file for every module."""

import ast
import pathlib

import pytest

# Launchpad's own node code asks absl flags, so its runtime has to mark them as parsed.
# A node's process is a command of its own, which only the launcher calls; so is what
# becomes a run of a suite.
MAY_TOUCH_FLAGS = {
    "rlcomponents/launching/launchpad_runtime.py",
    "rlcomponents/launching/node_process.py",
    "rlcomponents/launching/parent_death.py",
}
# A contract is itself tests: those of the stores inherit it.
NEED_NO_TEST = {"rlcomponents/testing/store_contract.py"}
FLAG_MODULES = {"absl.app", "absl.flags", "argparse", "click", "fire"}


def modules(directory: pathlib.Path) -> list[pathlib.Path]:
    """Returns every module below `directory`; a package's docstring is none."""
    return sorted(x for x in directory.rglob("*.py") if x.name != "__init__.py")


def flags_read(source: str) -> list[str]:
    """Returns what in `source` reads the command line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names.append(str(node.module))
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        else:
            continue
        found += [name for name in names if name in {*FLAG_MODULES, "sys.argv"}]
    return found


@pytest.mark.parametrize("package", ["rlcomponents", "agents"])
def test_nothing_below_launch_reads_flags(package, project_root):
    readers = {
        str(path.relative_to(project_root)): found
        for path in modules(project_root / package)
        if (found := flags_read(path.read_text()))
    }
    assert readers.keys() <= MAY_TOUCH_FLAGS, readers


@pytest.mark.parametrize(
    "source",
    [
        "from absl import flags",
        "from absl.flags import DEFINE_string",
        "import argparse",
        "import sys; print(sys.argv)",
    ],
)
def test_planted_flag_is_caught(source):
    assert flags_read(source)


@pytest.mark.parametrize("package", ["rlcomponents", "agents", "experiments"])
def test_tests_mirror_the_package(package, project_root):
    paths = {str(x.relative_to(project_root)) for x in modules(project_root / package)}
    mirrored = {
        str(test.with_name(test.name.removeprefix("test_")).relative_to(tests))
        for tests in [project_root / "tests"]
        for test in (tests / package).rglob("test_*.py")
    }
    assert paths - mirrored - NEED_NO_TEST == set()
