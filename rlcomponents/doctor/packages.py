"""The pinned versions, and whether what is installed really loads.

Launchpad's courier, Reverb and TensorFlow are linked by C++ symbols. A wrong mixture
does not fail when it is installed; it fails, or ends the process, when it is imported.
So each is imported in a process of its own.
"""

import importlib.metadata
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rlcomponents import extras
from rlcomponents.doctor import findings

PROJECT = "rlcomponents"
"""The distribution whose requirements are looked at."""

IMPORT_LIMIT_SECS = 120.0
"""What takes longer to import counts as hanging."""

_OURS = "run make install, which brings the versions that belong together"
_PYTHON = (3, 10)
_EXTRA_OF_DEVELOPERS = "dev"
_OTHER_NAMES = {"tensorflow-cpu": "tensorflow"}  # The same symbols, and GPUs.


class Module(NamedTuple):
    """Something to import.

    Attributes:
        name: Of the module.
        package: What installs it.
        probe: Code that shows that it works.
    """

    name: str
    package: str
    probe: str


MODULES = (
    Module("tensorflow", "tensorflow-cpu", "print(tensorflow.add(1, 2).numpy())"),
    Module("reverb", "dm-reverb", "reverb.Table.queue('a', 1)"),
    Module("courier", "dm-launchpad-nightly", "courier.Server()"),
    Module("launchpad", "dm-launchpad-nightly", "launchpad.Program('a')"),
    Module("numba", "numba", "numba.njit(lambda x: x + 1)(1)"),
    Module("tree", "dm-tree", "tree.flatten([1])"),
    Module("ale_py", "ale-py", "ale_py.ALEInterface()"),
    Module("mujoco", "mujoco", "mujoco.MjModel.from_xml_string('<mujoco/>')"),
)
"""The extension modules. Those of extras that are not installed are not missed."""


class Outcome(NamedTuple):
    """How the import of a module ended.

    Attributes:
        exit_code: Of the process; negative for a signal, None where it hung.
        errors: What it wrote on stderr.
    """

    exit_code: int | None
    errors: str


def names_of(package: str) -> list[str]:
    """Returns the name of a package and that of another which may stand for it."""
    return [package, *filter(None, [_OTHER_NAMES.get(package)])]


def check_python(version: Sequence[int], implementation: str) -> findings.Finding:
    """Looks at the interpreter."""
    text = f"{implementation} {'.'.join(map(str, version[:3]))}"
    if implementation == "CPython" and tuple(version[:2]) == _PYTHON:
        return findings.Finding(findings.OK, "Python", text)
    return findings.Finding(
        findings.FIX,
        "Python",
        f"{text}, but courier exists for CPython 3.10 only: set "
        "PYTHON=/path/to/python3.10 and run make install.",
    )


def check_versions(
    requirements: Sequence[str] | None, version_of: Callable[[str], str | None]
) -> Iterator[findings.Finding]:
    """Compares what is installed with what this project asks for.

    Args:
        requirements: Lines of the project's metadata; None where it has none.
        version_of: Returns the version of a package, None where it is not installed.
    """
    if requirements is None:
        text = f"{PROJECT} itself is not installed: run make install."
        yield findings.Finding(findings.FIX, "versions", text)
        return
    num_right = 0
    missing: dict[str, list[str]] = {}
    for name, asked, extra in map(_parse, requirements):
        if name == PROJECT or extra == _EXTRA_OF_DEVELOPERS:
            continue
        version = next(filter(None, map(version_of, names_of(name))), None)
        if version is None:
            missing.setdefault(extra, []).append(name)
        elif _fits(version, asked):
            num_right += 1
        else:
            text = f"{name} is {version}, and has to be {asked}: {_OURS}."
            yield findings.Finding(findings.FIX, "versions", text)
    for extra, names in missing.items():
        text = f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} not installed"
        if not extra:
            yield findings.Finding(findings.FIX, "versions", f"{text}: {_OURS}.")
        else:
            text += f": {extras.install(extra)} if you need {extra}."
            yield findings.Finding(findings.NOTE, "versions", text)
    text = f"{num_right} packages are as this project asks for"
    yield findings.Finding(findings.OK, "versions", text)


def check_import(module: Module, outcome: Outcome) -> findings.Finding:
    """Says what became of an import, and why."""
    if outcome.exit_code == 0:
        return findings.Finding(findings.OK, module.name, "loads")
    return findings.Finding(findings.FIX, module.name, _explain(module, outcome))


def import_module(module: Module) -> Outcome:
    """Imports a module in a process of its own, which may die of it."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import {module.name}\n{module.probe}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=IMPORT_LIMIT_SECS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(None, "")
    return Outcome(done.returncode, done.stderr)


def installed_version(name: str) -> str | None:
    """Returns the version of a package, None where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def own_requirements() -> list[str] | None:
    """Returns what this project asks for, None where it is not installed."""
    try:
        return importlib.metadata.requires(PROJECT) or []
    except importlib.metadata.PackageNotFoundError:
        return None


def _explain(module: Module, outcome: Outcome) -> str:
    if outcome.exit_code is None:
        return f"has not loaded in {IMPORT_LIMIT_SECS:.0f} s: end other programs first."
    for pattern, text in _EXPLANATIONS:
        if match := re.search(pattern, outcome.errors):
            return f"does not load: {match.expand(text)}."
    if outcome.exit_code < 0:
        name = signal.Signals(-outcome.exit_code).name
        if name == "SIGILL":
            return (
                f"was ended by {name}: this CPU lacks instructions (such as AVX) that "
                f"{module.package} was built with. Use another machine."
            )
        return (
            f"was ended by {name}, as where packages of different builds meet: {_OURS}."
        )
    last = outcome.errors.strip().rpartition("\n")[2]
    return f"does not load: {last or f'exit code {outcome.exit_code}'}. Try: {_OURS}."


_EXPLANATIONS = (
    (
        r"undefined symbol: (\w+)",
        rf"it was built against another TensorFlow (no symbol \1). To mend it, {_OURS}",
    ),
    (
        r"version `(GLIBC(?:XX)?_[\d.]+)' not found",
        r"this system is too old for it (no \1): use a newer distribution",
    ),
    (
        r"(lib[\w+.-]+\.so[\w.]*): cannot open shared object file",
        r"the system library \1 is missing. Install the package that holds it",
    ),
    (
        r"(?:compiled using NumPy|numpy\.dtype size changed|_ARRAY_API not found)",
        rf"it was built for another NumPy. To mend it, {_OURS}",
    ),
    (
        r"Descriptors cannot (?:not )?be created directly",
        rf"protobuf has another version than it needs. To mend it, {_OURS}",
    ),
    (
        r"No module named '([\w.]+)'",
        rf"\1 is not installed. To mend it, {_OURS}",
    ),
)
"""What error messages of imports mean."""


def _parse(requirement: str) -> tuple[str, str, str]:
    """Returns name, versions and extra of a line such as `a<2,>=1; extra == "b"`."""
    match = re.match(r"([\w.-]+)(?:\[.*?\])?\s*\(?([^;)]*)\)?", requirement)
    assert match is not None, requirement
    extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
    return match[1], match[2].strip(), extra[1] if extra else ""


def _fits(version: str, asked: str) -> bool:
    """Whether a version is within `==1.2`, or all of `<2,>=1`."""
    for part in filter(None, asked.split(",")):
        match = re.match(r"\s*(==|>=|<)\s*(.+)", part)
        assert match is not None, part
        found, limit = _numbers(version), _numbers(match[2])
        fits = {
            "==": version == match[2].strip(),
            ">=": found >= limit,
            "<": found < limit,
        }
        if not fits[match[1]]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))
