"""Python in the documentation compiles, and runs unless it is marked as an excerpt."""

import dataclasses
import re
import subprocess
import sys

import pytest

from agents.dqn import config as dqn_config
from agents.dqn import parts
from rlcomponents.parameters import tf_variables
from rlcomponents.runs import checkpoints, run_folder

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


def make_first_run(folder: run_folder.RunFolder) -> None:
    """Saves what the run of the five-minute start has, but has not learned anything."""
    config = dqn_config.DQNConfig(environment="catch")
    network = parts.make_network(config, parts.make_environment_spec(config))
    vector = tf_variables.FlatVariables(network.trainable_variables).vector()
    folder.write_config({"agent": "dqn", **dataclasses.asdict(config)})
    checkpoints.save(
        folder.best_checkpoint,
        agent_steps=0,
        parts={"parameters_0": {"parameters": vector}},
        facts={"agent_steps": 0, "num_parameter_shards": 1},
    )


@pytest.mark.filterwarnings("ignore")  # What a reader sees is the result.
def test_code_in_pages_runs(pages, project_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_first_run(run_folder.RunFolder.create(tmp_path / "runs" / "first"))
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


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_policy_is_trained_and_used_from_python(project_root, tmp_path):
    page = (project_root / "docs" / "how-to" / "policy.md").read_text()
    code = "".join(code for code, _ in blocks(page))
    shorter = code.replace("--max_steps=6000", "--max_steps=300")
    assert shorter != code
    script = tmp_path / "script.py"
    script.write_text(shorter)
    finished = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert re.search(r"^-?1\.0 after \d+ agent steps", finished.stdout, re.MULTILINE)


def test_blocks_are_found_and_excerpts_left_out():
    text = f"```python\na\n```\n\n{EXCERPT}\n```python\nb\n```\n\n```\nc\n```\n"
    assert blocks(text) == [("a\n", True), ("b\n", False)]


def test_planted_error_is_caught(tmp_path):
    with pytest.raises(ModuleNotFoundError):
        run("import a_package_that_is_missing", "planted", str(tmp_path))
    with pytest.raises(SyntaxError):
        run("def", "planted", str(tmp_path))
