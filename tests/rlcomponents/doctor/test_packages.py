import pytest

from rlcomponents.doctor import findings, packages

REQUIREMENTS = [
    "absl-py",
    "protobuf<4.26,>=4.25",
    "tensorflow-cpu==2.12.1",
    'rlcomponents[atari]; extra == "all"',
    'ale-py==0.12.1; extra == "atari"',
    'opencv-python-headless==4.11.0.86; extra == "atari"',
    'pytest; extra == "dev"',
]
INSTALLED = {
    "absl-py": "2.1.0",
    "protobuf": "4.25.8",
    "tensorflow-cpu": "2.12.1",
    "ale-py": "0.12.1",
    "opencv-python-headless": "4.11.0.86",
}
MODULE = packages.Module("reverb", "dm-reverb", "pass")


def check(**changes):
    installed = {**INSTALLED, **changes}
    return list(packages.check_versions(REQUIREMENTS, installed.get))


def test_python_3_10_is_right():
    assert packages.check_python((3, 10, 13), "CPython").level == findings.OK


@pytest.mark.parametrize(
    ("version", "name"),
    [((3, 11, 2), "CPython"), ((3, 9, 19), "CPython"), ((3, 10, 14), "PyPy")],
)
def test_another_python_is_to_be_replaced(version, name):
    finding = packages.check_python(version, name)
    assert finding.level == findings.FIX
    assert "PYTHON=/path/to/python3.10" in finding.text


def test_versions_as_asked_for_are_one_line():
    text = "5 packages are as this project asks for"
    assert check() == [findings.Finding(findings.OK, "versions", text)]


def test_the_gpu_build_of_tensorflow_stands_for_the_other():
    found = check(**{"tensorflow-cpu": None, "tensorflow": "2.12.1"})
    assert [each.level for each in found] == [findings.OK]


@pytest.mark.parametrize(
    ("name", "version", "asked"),
    [
        ("tensorflow-cpu", "2.13.0", "==2.12.1"),
        ("protobuf", "4.24.9", "<4.26,>=4.25"),
        ("protobuf", "4.26.0", "<4.26,>=4.25"),
        ("ale-py", "0.12.10", "==0.12.1"),
    ],
)
def test_another_version_is_to_be_fixed(name, version, asked):
    finding = check(**{name: version})[0]
    assert finding.level == findings.FIX
    assert finding.text.startswith(f"{name} is {version}, and has to be {asked}: run ")


def test_a_missing_package_is_to_be_installed():
    finding = check(protobuf=None)[0]
    assert finding.level == findings.FIX
    assert finding.text.startswith("protobuf is not installed: run make install")


def test_a_missing_extra_is_noted():
    finding = check(**{"ale-py": None, "opencv-python-headless": None})[0]
    assert finding.level == findings.NOTE
    assert finding.text == (
        "ale-py, opencv-python-headless are not installed: run .venv/bin/pip install "
        "-e '.[atari]' in the project's folder if you need atari."
    )


def test_a_project_that_is_not_installed_is_said_to_be_so():
    [finding] = packages.check_versions(None, INSTALLED.get)
    assert finding.level == findings.FIX
    assert "rlcomponents itself is not installed" in finding.text


def test_a_package_that_is_not_installed_has_no_version():
    assert packages.installed_version("no-such-package") is None
    assert packages.installed_version("numpy") == "1.24.3"


def test_a_module_that_loads_is_right():
    assert packages.check_import(MODULE, packages.Outcome(0, "a warning")) == (
        findings.OK,
        "reverb",
        "loads",
    )


@pytest.mark.parametrize(
    ("exit_code", "errors", "said"),
    [
        (
            1,
            "ImportError: libcourier.so: undefined symbol: _ZN10tensorflow4NodeE\n",
            "built against another TensorFlow (no symbol _ZN10tensorflow4NodeE)",
        ),
        (
            1,
            "ImportError: libc.so.6: version `GLIBC_2.35' not found (required by x)",
            "this system is too old for it (no GLIBC_2.35)",
        ),
        (
            1,
            "ImportError: libGL.so.1: cannot open shared object file: No such file",
            "the system library libGL.so.1 is missing",
        ),
        (
            1,
            "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0",
            "built for another NumPy",
        ),
        (
            1,
            "TypeError: Descriptors cannot be created directly.\nIf this call came",
            "protobuf has another version",
        ),
        (
            1,
            "ModuleNotFoundError: No module named 'pkg_resources'",
            "pkg_resources is not installed",
        ),
        (1, "Traceback:\nOSError: of its own\n", "does not load: OSError: of its own."),
        (3, "", "does not load: exit code 3."),
        (-6, "", "was ended by SIGABRT, as where packages of different builds meet"),
        (-11, "", "was ended by SIGSEGV"),
        (-4, "", "was ended by SIGILL: this CPU lacks instructions"),
        (None, "", "has not loaded in 120 s"),
    ],
)
def test_a_module_that_does_not_load_is_explained(exit_code, errors, said):
    finding = packages.check_import(MODULE, packages.Outcome(exit_code, errors))
    assert finding.level == findings.FIX
    assert said in finding.text
    assert "\n" not in finding.text


def test_a_module_that_ends_its_process_does_not_end_ours():
    module = packages.Module("os", "os", "os.abort()")
    assert packages.import_module(module).exit_code == -6


def test_a_module_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(packages, "IMPORT_LIMIT_SECS", 0.2)
    module = packages.Module("signal", "signal", "signal.pause()")
    assert packages.import_module(module) == packages.Outcome(None, "")


def test_what_an_import_says_is_kept():
    outcome = packages.import_module(packages.Module("no_such_module", "none", "pass"))
    assert outcome.exit_code == 1
    assert "No module named 'no_such_module'" in outcome.errors


def test_the_doctor_loads_nothing_that_may_not_load():
    heavy = {module.name for module in packages.MODULES} | {"numpy"}
    code = (
        "import sys, rlcomponents.doctor.__main__; "
        f"sys.exit(str({heavy} & set(sys.modules) or ''))"
    )
    outcome = packages.import_module(packages.Module("sys", "sys", code))
    assert outcome.errors.strip() == ""
