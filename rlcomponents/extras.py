"""How to install what only some parts of the library need."""


def install(extra: str) -> str:
    """Returns the words for a message about a package that is missing.

    Args:
        extra: Name in `project.optional-dependencies` of pyproject.toml.
    """
    return f"run .venv/bin/pip install -e '.[{extra}]' in the project's folder"
