import pathlib
import re

import tomli

from rlcomponents import extras

ROOT = pathlib.Path(__file__).parents[2]


def test_a_checkout_is_told_to_add_the_extra_to_itself():
    assert extras.install("video") == (
        "run .venv/bin/pip install -e '.[video]' in the project's folder"
    )


def test_every_extra_that_a_message_names_exists():
    settings = tomli.loads((ROOT / "pyproject.toml").read_text())
    known = settings["project"]["optional-dependencies"].keys()
    sources = (ROOT / "rlcomponents").rglob("*.py")
    named = {
        name
        for source in sources
        for name in re.findall(r"extras\.install\('(\w+)'\)", source.read_text())
    }
    assert named == {"results", "runs", "video"}
    assert named <= known
