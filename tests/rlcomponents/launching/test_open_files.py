"""Tests of refusing a limit of open files that is too low."""

import resource

import launchpad as lp
import pytest

from rlcomponents.launching import launcher, open_files


def make_program(num_nodes):
    program = lp.Program("program")
    with program.group("a"):
        for _ in range(num_nodes):
            program.add_node(lp.PyNode(print))
    return program


@pytest.fixture
def limit(monkeypatch):
    def set_limit(number):
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (number, -1))

    return set_limit


def test_a_limit_that_is_too_low_is_named_with_what_is_needed(limit):
    limit(139)
    with pytest.raises(
        ValueError,
        match=r"may have 139 files open here, and a program of 3 nodes needs 140: "
        r"raise the limit first, as with ulimit -n 4096\.",
    ):
        open_files.check(make_program(3))


@pytest.mark.parametrize("number", [140, resource.RLIM_INFINITY])
def test_a_limit_that_is_enough_passes(limit, number):
    limit(number)
    open_files.check(make_program(3))


def test_nothing_is_launched_under_a_limit_that_is_too_low(limit, tmp_path):
    limit(24)
    with pytest.raises(ValueError, match="may have 24 files open"):
        launcher.launch(make_program(1), tmp_path / "run")
    assert not (tmp_path / "run").exists()
