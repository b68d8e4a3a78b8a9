"""What the documentation points at exists."""

import pathlib
import re

import pytest

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
DOTTED = re.compile(r"`((?:rlcomponents|agents|launch|experiments)(?:\.\w+)+)`")
SOURCES = ("rlcomponents", "agents", "launch", "experiments")


def broken_links(page: pathlib.Path) -> list[str]:
    """Returns the relative links of a page that lead nowhere."""
    return [
        target
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]


def resolves(name: str, project_root: pathlib.Path) -> bool:
    """Whether a dotted name is a module of ours, or is defined in one."""
    parts = name.split(".")
    folder = project_root
    while parts and (folder / parts[0]).is_dir():
        folder /= parts.pop(0)
    module = folder / "__init__.py"
    if parts and (folder / f"{parts[0]}.py").exists():
        module = folder / f"{parts.pop(0)}.py"
    source = module.read_text() if module.exists() else ""
    return all(
        re.search(rf"^\s*(?:class |def )?{part}\b", source, re.MULTILINE)
        for part in parts
    )


def test_links_lead_somewhere(project_root, pages):
    broken = {
        str(page.relative_to(project_root)): links
        for page in pages
        if (links := broken_links(page))
    }
    assert broken == {}


def test_dotted_names_exist(project_root, pages):
    sources = [path for name in SOURCES for path in (project_root / name).rglob("*.py")]
    unknown = {
        f"{path.relative_to(project_root)}: {name}"
        for path in [*pages, *sources]
        for name in DOTTED.findall(path.read_text())
        if not resolves(name, project_root)
    }
    assert unknown == set()


def test_planted_broken_link_is_caught(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("See [this](page.md) and [that](missing.md).")
    assert broken_links(page) == ["missing.md"]


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("rlcomponents.core", True),
        ("rlcomponents.core.Snapshot", True),
        ("rlcomponents.core.Snapshot.updates", True),
        ("rlcomponents.core.Missing", False),
        ("rlcomponents.missing", False),
    ],
)
def test_dotted_name_is_judged(name, exists, project_root):
    assert resolves(name, project_root) is exists
