import sys

import pytest

from rlcomponents import names

MUST_BE = "a function of nothing"


@pytest.fixture
def users_module(tmp_path, monkeypatch):
    """Puts a module `users_names` into the current directory."""
    (tmp_path / "users_names.py").write_text(
        "import os\n\ndef answer():\n    return 42\n\nNUMBER = 7\n"
    )
    (tmp_path / "users_slip.py").write_text("import os\n\nos.no_such_thing\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("users_names", "users_slip"):
        sys.modules.pop(name, None)


def test_names_of_ones_own_begin_with_module():
    assert names.is_own("module:games:make")
    assert not names.is_own("modules:games:make")
    assert not names.is_own("nature_dqn")


def test_names_that_are_near_are_asked_for():
    assert names.near("pog", ["pong", "breakout"]) == " (did you mean 'pong'?)"
    assert names.near("xyz", ["pong", "breakout"]) == ""


def test_a_function_in_the_current_directory_is_found(users_module):
    function = names.own_function("module:users_names:answer", MUST_BE)
    assert function == ("users_names", "answer", str(users_module))
    assert function.find()() == 42


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("module:users_names", ValueError, "does not name a function: write 'module:p"),
        ("module:.near:make", ValueError, "does not name a function"),
        ("module::answer", ValueError, "does not name a function"),
        ("module:gone.deep:make", ImportError, "no module 'gone' in the current"),
        ("module:users_names:answr", ValueError, r"no 'answr' \(did you mean 'answer'"),
        ("module:users_names:NUMBER", ValueError, "is a int; it must be a function of"),
        ("module:users_slip:make", AttributeError, "has no attribute 'no_such_thing'"),
    ],
)
def test_what_is_not_there_is_refused(users_module, name, error, sentence):
    with pytest.raises(error, match=sentence):
        names.own_function(name, MUST_BE)
