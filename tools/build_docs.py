"""Builds the documentation into build/docs: pages with Sphinx, the API with pdoc.

Whatever is wrong ends the build: a warning of either, a public name without a
description, a link in a page that leads nowhere. pdoc itself only leaves out a module
that does not import, and shows nothing where there is no docstring: a reader would
never know what is missing.

Usage: `python tools/build_docs.py [MODULE ...]`. With modules, their API only.
"""

import inspect
import os
import pathlib
import re
import shutil
import sys
import urllib.parse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pdoc
import pdoc.doc
import pdoc.extract
import pdoc.render
from sphinx.cmd import build as sphinx_build

PACKAGES = ("rlcomponents", "agents", "launch", "experiments")
OUTPUT_DIR = pathlib.Path("build/docs")
API_DIR = OUTPUT_DIR / "api"
FIRST_PAGE = "docs/index.html"


def main(modules: Sequence[str]) -> int:
    """Builds all of it, or the API of some modules; returns the exit code."""
    shutil.rmtree(OUTPUT_DIR, ignore_errors=True)
    if not modules and build_pages() != 0:
        return 1
    build_api(modules or PACKAGES)
    complaints = [
        f"{name} is public and has no description: give it a docstring, or an entry "
        "under Attributes of its class."
        for name in undocumented(modules or PACKAGES)
    ]
    if not modules:
        complaints += broken_links(OUTPUT_DIR)
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    if not complaints:
        print(f"Documentation: {OUTPUT_DIR / 'index.html'}")
    return 1 if complaints else 0


def build_pages() -> int:
    """Builds the Markdown pages as docs/conf.py says; returns Sphinx's exit code.

    The folder of the sources is the project's, so that a page can be where its subject
    is (README.md of an agent), and links work on disk as they do in the site.
    """
    exit_code = sphinx_build.main(
        [
            "--fail-on-warning",
            "--keep-going",
            "--quiet",
            "--conf-dir=docs",
            f"--doctree-dir={OUTPUT_DIR.with_name('doctrees')}",
            ".",
            str(OUTPUT_DIR),
        ]
    )
    if exit_code == 0:
        (OUTPUT_DIR / "index.html").write_text(
            f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={FIRST_PAGE}">'
            f'<a href="{FIRST_PAGE}">Documentation</a>\n'
        )
    return exit_code


def build_api(modules: Sequence[str]) -> None:
    """Renders modules and their submodules into `API_DIR`."""
    warnings.filterwarnings("ignore")  # Other people's, raised while they are imported.
    warnings.filterwarnings("error", module=r"pdoc(\..*)?$")
    pdoc.render.configure(docformat="google")
    pdoc.pdoc(*modules, output_directory=API_DIR)


def undocumented(modules: Sequence[str]) -> list[str]:
    """Returns the full names of what is public and has no description."""
    return [
        name
        for module in pdoc.extract.walk_specs(modules)
        for name in _undocumented_in(pdoc.doc.Module.from_name(module))
    ]


def broken_links(site: pathlib.Path) -> list[str]:
    """Returns a sentence for each link of a page to a file that is not in the site."""
    found = []
    for page in sorted(site.rglob("*.html")):
        if API_DIR in page.parents:
            continue  # pdoc links only what it writes.
        for target in re.findall(r'(?:href|src)="([^"#?:]+)[^":]*"', page.read_text()):
            if not (page.parent / urllib.parse.unquote(target)).exists():
                found.append(f"{page} points at {target}, which is not there.")
    return found


def _undocumented_in(namespace: pdoc.doc.Namespace[Any]) -> Iterator[str]:
    """Goes through a module or a class."""
    if not namespace.docstring:
        yield namespace.fullname
    for member in namespace.own_members:
        if member.name.startswith(("_", "test_")):  # A test's name is its sentence.
            continue
        if isinstance(member, pdoc.doc.Class) and _is_ours(member, namespace):
            yield from _undocumented_in(member)
        elif not _is_documented(member, namespace):
            yield member.fullname


def _is_ours(member: pdoc.doc.Class, namespace: pdoc.doc.Namespace[Any]) -> bool:
    """Whether a class is no other package's, under a name of ours."""
    package = namespace.modulename.partition(".")[0]
    return member.obj.__module__.partition(".")[0] == package


def _is_documented(
    member: pdoc.doc.Doc[Any], namespace: pdoc.doc.Namespace[Any]
) -> bool:
    """Whether it has a docstring, or its class or a base of it lists it."""
    if member.docstring and not member.docstring.startswith("Alias for field number"):
        return True
    entry = re.compile(rf"^ *{member.name}: ", re.MULTILINE)
    return any(
        entry.search(inspect.getdoc(kind) or "")
        for kind in getattr(namespace.obj, "__mro__", ())
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
