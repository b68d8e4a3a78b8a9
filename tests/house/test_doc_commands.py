"""Commands in the documentation: the scripts take them, and the short ones are run."""

import ast
import contextlib
import importlib
import io
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from agents import run_config
from launch import command_line

FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(
    r"`((?:make|(?:python )?(?:launch|experiments)/\w+\.py|\.venv/bin/\w+) [^`]+)`"
)
COMMAND = re.compile(r"(?:\.venv/bin/\w+|python|make|(?:launch|experiments)/\w+\.py) ")
FILE = re.compile(
    r"<!-- file: (\S+) -->\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL
)
START = "docs/start.md"
LONG = ("make ", "atari:", "minatar:", "breakout", "control:")


def commands_of(text: str) -> list[str]:
    """Returns the commands of a page: lines of fenced blocks, and inline code."""
    blocks = "".join(FENCED.findall(text)).replace("\\\n", " ")
    lines = [line.strip() for line in blocks.splitlines()]
    return [line for line in lines if COMMAND.match(line)] + INLINE.findall(text)


def commands_of_script(path: pathlib.Path) -> list[str]:
    """Returns the commands that a script's docstring shows."""
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("python ")]


def arguments_of(command: str) -> list[str]:
    """Returns a command in words, from the script or target on."""
    words = [
        word
        for word in shlex.split(command, comments=True)
        if word not in ("&", "make")
    ]
    return words[1:] if words[0].endswith("python") else words


class ParsedError(Exception):
    """Thrown where a script has parsed its flags, so that it does no more."""


def parse_only(*args, real_parse=command_line.parse, **kwargs):
    """Parses, builds the settings that there are, and ends the script."""
    flags = real_parse(*args, **kwargs)
    config_class = kwargs.get("config_class")
    if config_class is not None and not getattr(flags.run, "resume", None):
        run_config.make_config(config_class, flags.settings, preset=flags.run.preset)
    raise ParsedError


def refusal(script: str, flags: list[str]) -> str | None:
    """Returns what a script of ours says against its flags, None where it runs."""
    errors = io.StringIO()
    module = pathlib.Path(script).with_suffix("")
    try:
        with contextlib.redirect_stderr(errors):
            importlib.import_module(".".join(module.parts)).main(flags)
    except ParsedError:
        return None
    except (ImportError, ValueError) as error:
        return str(error)
    except SystemExit:
        return errors.getvalue()
    return "It parsed no flags."


def complaint(command: str, project_root: pathlib.Path) -> str | None:
    """Returns what is wrong with a command."""
    program, *flags = arguments_of(command)
    if command.startswith("make "):
        makefile = (project_root / "Makefile").read_text()
        variables = {flag.partition("=")[0] for flag in flags}
        unknown = [name for name in variables if name not in makefile]
        is_target = re.search(rf"^{program}:", makefile, re.MULTILINE)
        return None if is_target and not unknown else "no such target or variable"
    if (
        program.startswith(("launch/", "experiments/"))
        and (project_root / program).exists()
    ):
        return refusal(program, flags)
    if program == "-m":
        return None if importlib.util.find_spec(flags[0]) else "no such module"
    if program.startswith(".venv/bin/"):
        tool = pathlib.Path(sys.executable).with_name(pathlib.Path(program).name)
        return None if tool.exists() else "no such tool"
    if not (project_root / program).exists():
        return "no such script"
    return undescribed_flags(project_root / program, flags)


def undescribed_flags(script: pathlib.Path, flags: list[str]) -> str | None:
    """Looks for flags in what a script with a parser of its own says of itself."""
    names = {flag.partition("=")[0] for flag in flags if flag.startswith("--")}
    if not names:
        return None
    described = subprocess.run(
        [sys.executable, script, "--help"], capture_output=True, text=True, check=True
    ).stdout
    unknown = [name for name in names if name not in described]
    return f"no flags {unknown}" if unknown else None


@pytest.fixture
def parsing_only(monkeypatch, tmp_path):
    """Lets scripts parse and do no more, in an empty folder; imports leave no trace."""
    monkeypatch.setattr(command_line, "parse", parse_only)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    before = {*sys.modules}
    yield
    for name in {*sys.modules} - before:
        path = getattr(sys.modules[name], "__file__", None) or ""
        if pathlib.Path(path).parent == tmp_path:
            del sys.modules[name]


@pytest.mark.usefixtures("parsing_only")
def test_scripts_take_every_command(project_root, pages):
    sources = {page: commands_of(page.read_text()) for page in pages}
    folders = [project_root / name for name in ("launch", "experiments")]
    for script in (path for folder in folders for path in folder.glob("*.py")):
        sources[script] = commands_of_script(script)
    complaints = {}
    num_commands = 0
    for source, commands in sources.items():
        for name, code in FILE.findall(source.read_text()):
            pathlib.Path(name).write_text(code)
        for command in commands:
            num_commands += 1
            if found := complaint(command, project_root):
                complaints[f"{source.relative_to(project_root)}: {command}"] = found
    assert complaints == {}
    assert num_commands > 40


@pytest.mark.usefixtures("parsing_only")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python launch/dqn.py --environment=catch", None),
        ("python launch/dqn.py --enviroment=catch", "There is no flag --enviroment"),
        ("python launch/dqn.py --environment=catchh", "catchh"),
        ("python launch/dqn.py --seed=N", "--seed is 'N'"),
        ("python launch/missing.py", "no such script"),
        (".venv/bin/python examples/own_agent.py", None),
        (".venv/bin/python -m rlcomponents.doctr", "no such module"),
        (".venv/bin/tensorbord --logdir=runs", "no such tool"),
        ("make bench BENCH_FLAGS=--quick", None),
        ("make bench BENCHFLAGS=--quick", "no such target or variable"),
        ("make cofee", "no such target or variable"),
    ],
)
def test_a_planted_command_is_judged(command, expected, project_root):
    found = complaint(command, project_root)
    assert found == expected or (expected and expected in str(found))


def test_commands_are_found_in_blocks_and_in_code():
    text = "Run `launch/a.py --x`.\n\n```\npython b.py \\\n  --y\nmake c  # Why.\n```\n"
    found = commands_of(text)
    assert found == ["python b.py    --y", "make c  # Why.", "launch/a.py --x"]
    assert [arguments_of(command) for command in found] == [
        ["b.py", "--y"],
        ["c"],
        ["launch/a.py", "--x"],
    ]


def run(command: str, folder: pathlib.Path, project_root: pathlib.Path) -> None:
    """Runs a command in a folder, as if the project lay there."""
    script, *flags = arguments_of(command)
    finished = subprocess.run(
        [sys.executable, project_root / script, *flags],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, f"{command}\n{finished.stdout}{finished.stderr}"


@pytest.mark.integration
@pytest.mark.timeout(900)
def test_the_five_minute_start_works(project_root, tmp_path):
    commands = commands_of((project_root / START).read_text())
    short = [
        command for command in commands if not any(long in command for long in LONG)
    ]
    assert len(short) >= 5
    for command in short:
        run(command, tmp_path, project_root)
    assert (tmp_path / "first.mp4").stat().st_size > 1_000
    assert (tmp_path / "both.svg").exists()


@pytest.mark.integration
@pytest.mark.timeout(900)
def test_training_on_catch_and_on_ones_own_game_works(project_root, pages, tmp_path):
    short = set()
    for page in pages:
        text = page.read_text()
        for name, code in FILE.findall(text):
            (tmp_path / name).write_text(code)
        if page != project_root / START:
            for command in commands_of(text):
                if re.search("--environment=(catch|module:[a-z])", command):
                    script, *flags = arguments_of(command)
                    given = [f for f in flags if not f.startswith("--max_steps")]
                    short.add(shlex.join([script, *given, "--max_steps=300"]))
    assert len(short) >= 5
    for command in sorted(short):
        run(command, tmp_path, project_root)
