"""Builds the API documentation with pdoc; a warning is an error.

pdoc only warns where a module does not import or an annotation does not resolve, and
then leaves the page out: a reader would never know what is missing.

Usage: `python tools/build_docs.py [MODULE ...]` (default: every package of ours).
"""

import os
import pathlib
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pdoc
import pdoc.render

PACKAGES = ("rlcomponents", "agents")
OUTPUT_DIR = pathlib.Path("build/docs")


def main(modules: tuple[str, ...]) -> None:
    """Renders `modules` and their submodules into `OUTPUT_DIR`."""
    warnings.filterwarnings("ignore")  # Other people's, raised while they are imported.
    warnings.filterwarnings("error", module=r"pdoc(\..*)?$")
    pdoc.render.configure(docformat="google")
    pdoc.pdoc(*modules, output_directory=OUTPUT_DIR)
    print(f"API documentation: {OUTPUT_DIR / 'index.html'}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or PACKAGES)
