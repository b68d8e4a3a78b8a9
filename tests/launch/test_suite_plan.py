"""Tests of what is known of the code and the machine that a run is started with."""

import datetime
import pathlib
import shutil
import subprocess

import pytest

from launch import suite_plan

GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@b.c")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout whose only code is in launch/."""
    code = tmp_path / "launch" / "suite_plan.py"
    code.parent.mkdir()
    code.write_text("A = 1\n")
    monkeypatch.setattr(suite_plan, "__file__", str(code))
    subprocess.run([*GIT, "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def commit(checkout):
    subprocess.run([*GIT, "add", "."], cwd=checkout, check=True)
    subprocess.run([*GIT, "commit", "--quiet", "-m", "A"], cwd=checkout, check=True)


def test_a_run_is_made_with_versions_a_machine_and_a_commit(checkout):
    commit(checkout)
    found = suite_plan.origin()
    assert found.versions.startswith("Python 3.10")
    assert "cores of" in found.machine
    assert found.date == datetime.date.today().isoformat()
    assert found.commit is not None
    assert set(found.commit) <= set("0123456789abcdef")


def test_changes_of_the_code_that_are_in_no_commit_are_said(checkout):
    commit(checkout)
    (checkout / "table.md").touch()  # Results are not what makes them.
    clean = suite_plan.origin().commit
    (checkout / "launch" / "new.py").touch()
    assert suite_plan.origin().commit == f"{clean} with uncommitted changes"


def test_code_that_is_no_part_of_the_checkout_around_it_has_no_commit(checkout):
    (checkout / ".gitignore").write_text("launch/\n")
    commit(checkout)
    assert suite_plan.origin().commit is None


def test_without_git_or_a_checkout_there_is_no_commit(checkout, monkeypatch):
    commit(checkout)
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(checkout))
        assert suite_plan.origin().commit is None
    shutil.rmtree(pathlib.Path(checkout, ".git"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.parent))
    assert suite_plan.origin().commit is None
