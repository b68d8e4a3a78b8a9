"""How Sphinx builds the pages; `make docs` runs it.

The pages are Markdown files that stay where they are in the project: docs/, README.md,
an agent's README.md. So a link between them is a plain relative path, in the site as
on disk. Links to source code lead to its page in the API, which pdoc writes, and links
to a folder to its README.md.
"""

import os
import pathlib
from typing import Any

from docutils import nodes
from sphinx import addnodes, application

ROOT = pathlib.Path(__file__).parents[1]
API_PACKAGES = ("agents", "experiments", "launch", "rlcomponents")

project = "rlcomponents"
author = "The rlcomponents authors"
language = "en-GB"

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "agents/*/README.md",
    "docs/**.md",
    "docs/**/*.md",
]
# Folders that Sphinx need not walk through.
exclude_patterns = [".*", "build", "benchmarks", "runs", "rlcomponents", "tests"]

myst_heading_anchors = 4  # As code hosts make them: #going-on-with-a-run.

html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_title = "rlcomponents"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "friendly"
highlight_language = "text"  # Of blocks that do not say theirs: commands and pictures.


def page_of(path: pathlib.Path) -> str | None:
    """Returns what stands for source code, or a folder, in the site; None: nothing."""
    if not path.is_relative_to(ROOT):
        return None
    relative = path.relative_to(ROOT)
    is_module = path.suffix == ".py" or (path / "__init__.py").exists()
    if is_module and relative.parts[0] in API_PACKAGES:
        return f"api/{relative.with_suffix('')}.html"
    return f"{relative}/README.html" if (path / "README.md").exists() else None


def point_at_site(_app: application.Sphinx, document: nodes.document) -> None:
    """Turns links to source code and folders into links to their pages."""
    for link in list(document.findall(nodes.Element)):
        if not isinstance(link, (addnodes.pending_xref, addnodes.download_reference)):
            continue
        docname = link["refdoc"]
        target = str(link["reftarget"]).partition("#")[0]
        page = page_of(pathlib.Path(os.path.normpath((ROOT / docname).parent / target)))
        if page is not None and link.get("refdomain") != "doc":
            uri = os.path.relpath(page, os.path.dirname(docname) or ".")
            reference = nodes.reference("", "", internal=True, refuri=uri)
            reference += [child.deepcopy() for child in link.children]
            link.replace_self(reference)


def setup(app: application.Sphinx) -> dict[str, Any]:
    """Adds what this project needs to Sphinx."""
    app.connect("doctree-read", point_at_site)
    return {"parallel_read_safe": True}
