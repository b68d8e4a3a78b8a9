"""Python in the documentation compiles, and runs unless it is marked as an excerpt."""

import re

import pytest

BLOCK = re.compile(
    r"(?P<mark><!-- .*? -->\n)?```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
EXCERPT = "<!-- excerpt -->"  # On the line before the block: it is not run.


def blocks(text: str) -> list[tuple[str, bool]]:
    """Returns the code of each block, and whether it is to run."""
    return [
        (match["code"], EXCERPT not in (match["mark"] or ""))
        for match in BLOCK.finditer(text)
    ]


def run(code: str, name: str, run_dir: str) -> None:
    """Runs a block. Only the name `run_dir`, of an empty folder, is given to it."""
    exec(compile(code, name, "exec"), {"__name__": "example", "run_dir": run_dir})


@pytest.mark.filterwarnings("ignore")  # What a reader sees is the result.
def test_code_in_pages_runs(pages, project_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    num_run = 0
    for page in pages:
        for number, (code, runs) in enumerate(blocks(page.read_text()), start=1):
            name = f"{page.relative_to(project_root)}, block {number}"
            run_dir = tmp_path / str(num_run)
            run_dir.mkdir(exist_ok=True)
            if runs:
                run(code, name, str(run_dir))
                num_run += 1
            else:
                compile(code, name, "exec")
    assert num_run >= 6


def test_blocks_are_found_and_excerpts_left_out():
    text = f"```python\na\n```\n\n{EXCERPT}\n```python\nb\n```\n\n```\nc\n```\n"
    assert blocks(text) == [("a\n", True), ("b\n", False)]


def test_planted_error_is_caught(tmp_path):
    with pytest.raises(ModuleNotFoundError):
        run("import a_package_that_is_missing", "planted", str(tmp_path))
    with pytest.raises(SyntaxError):
        run("def", "planted", str(tmp_path))
