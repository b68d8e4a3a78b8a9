"""ruff, mypy and the documentation build each catch a planted violation."""

import pathlib
import shutil
import subprocess
import sys

import pytest

CLEAN = '"""A module."""\n\nimport math\n\nTAU = math.tau\n'


def ruff(project_root: pathlib.Path, source: str, path: str) -> str:
    """Returns ruff's complaints about `source` as if it lay at `path`."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format=concise"]
    return subprocess.run(
        [*command, "--stdin-filename", path, "-"],
        cwd=project_root,
        input=source,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        pytest.param(CLEAN + "def add(x):\n    return x\n", "D103", id="no-docstring"),
        pytest.param(CLEAN + "import os\n", "F401", id="unused-import"),
        pytest.param(CLEAN + "from . import core\n", "TID252", id="relative-import"),
        pytest.param(
            CLEAN + 'def add(x, to=[]):\n    """Adds."""\n', "B006", id="shared-default"
        ),
        pytest.param(
            CLEAN
            + 'def add(x, y):\n    """Adds.\n\n    Args:\n        x: One.\n    """',
            "D417",
            id="undocumented-argument",
        ),
    ],
)
def test_ruff_catches(source, rule, project_root):
    assert rule in ruff(project_root, source, "rlcomponents/planted.py")


def test_ruff_accepts_clean_code(project_root):
    assert "All checks passed" in ruff(project_root, CLEAN, "rlcomponents/planted.py")


def test_tests_need_no_docstrings(project_root):
    source = CLEAN + "\n\ndef test_add():\n    pass\n"
    assert "All checks passed" in ruff(project_root, source, "tests/test_planted.py")


def mypy(project_root: pathlib.Path, source: str, cache: pathlib.Path) -> str:
    """Returns what mypy says about `source` under the project's settings."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={cache}", "-c", source],
        cwd=project_root,
        capture_output=True,
        text=True,
    ).stdout


def test_mypy_catches_missing_hints_and_wrong_types(project_root, tmp_path):
    source = "def untyped(x): return x\n\ndef wrong() -> int:\n    return 'one'\n"
    complaints = mypy(project_root, source, tmp_path)
    assert "[no-untyped-def]" in complaints
    assert "[return-value]" in complaints


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        pytest.param("import a_package_that_is_missing\n", "importing", id="import"),
        pytest.param(
            'def go(x: "Missing") -> None:\n    """Goes."""\n',
            "Missing",
            id="annotation",
        ),
        pytest.param(
            "def go() -> None:\n    pass\n",
            "planted_module.go is public",
            id="function",
        ),
        pytest.param("SIZE = 3\n", "planted_module.SIZE is public", id="constant"),
        pytest.param(
            "from typing import NamedTuple\n\n\nclass Point(NamedTuple):\n"
            '    """A point."""\n\n    x: int\n',
            "planted_module.Point.x is public",
            id="field",
        ),
    ],
)
def test_documentation_build_stops_at(source, complaint, project_root, tmp_path):
    (tmp_path / "planted_module.py").write_text(f'"""A module."""\n\n{source}')
    finished = subprocess.run(
        [sys.executable, project_root / "tools/build_docs.py", "planted_module"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert finished.returncode != 0
    assert complaint in finished.stderr


def in_build_docs(
    project_root: pathlib.Path, folder: pathlib.Path, code: str
) -> subprocess.CompletedProcess[str]:
    """Runs code that knows `build_docs`, in a folder."""
    return subprocess.run(
        [sys.executable, "-c", f"import build_docs\n{code}"],
        cwd=folder,
        env={"PYTHONPATH": str(project_root / "tools")},
        capture_output=True,
        text=True,
    )


def test_documentation_build_stops_at_a_link_to_a_missing_heading(
    project_root, tmp_path
):
    (tmp_path / "docs").mkdir()
    for name in ("conf.py", "site.css"):
        shutil.copy(project_root / "docs" / name, tmp_path / "docs")
    (tmp_path / "docs/index.md").write_text("# Page\n\n[There](#nowhere).\n")
    finished = in_build_docs(project_root, tmp_path, "exit(build_docs.build_pages())")
    assert finished.returncode != 0
    assert "nowhere" in finished.stderr


def test_links_to_pages_that_were_not_built_are_found(project_root, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.html").write_text(
        '<a href="page.html#here"><a href="../api/x.html"><a href="https://x.org">'
    )
    finished = in_build_docs(
        project_root,
        tmp_path,
        "import pathlib; print(build_docs.broken_links(pathlib.Path()))",
    )
    assert finished.stdout == (
        "['docs/page.html points at ../api/x.html, which is not there.']\n"
    )
