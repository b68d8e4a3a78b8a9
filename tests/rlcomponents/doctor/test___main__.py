import pathlib
import subprocess
import sys

import pytest

from rlcomponents.doctor import __main__ as doctor
from rlcomponents.doctor import findings, packages

FINE = findings.Finding(findings.OK, "cores", "2")
NOTED = findings.Finding(findings.NOTE, "GPU", "none")
BROKEN = findings.Finding(findings.FIX, "disk", "full")


@pytest.mark.parametrize(
    ("found", "exit_code", "last"),
    [
        ([FINE, NOTED], 0, "Nothing has to be fixed."),
        ([FINE, BROKEN], 1, "1 thing has to be fixed."),
        ([BROKEN, BROKEN], 1, "2 things have to be fixed."),
    ],
)
def test_the_exit_code_says_whether_something_has_to_be_fixed(
    monkeypatch, capsys, found, exit_code, last
):
    monkeypatch.setattr(doctor, "_look", lambda: iter(found))
    assert doctor.main() == exit_code
    assert capsys.readouterr().out.splitlines() == [*map(str, found), last]


@pytest.mark.integration
def test_it_finds_nothing_to_fix_where_the_tests_run():
    done = subprocess.run(
        [sys.executable, "-m", "rlcomponents.doctor"],
        cwd=pathlib.Path(doctor.__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for module in packages.MODULES[:4]:
        assert f"ok    {module.name}: loads" in done.stdout.splitlines()
