"""Tests of rlcomponents.nodes.lazy."""

import fractions
import pickle
import sys

import pytest

from rlcomponents import pulse
from rlcomponents.nodes import lazy


def test_calls_the_function_with_its_arguments():
    make = lazy.Constructor("fractions", "Fraction")
    assert make(3, denominator=4) == fractions.Fraction(3, 4)


@pytest.fixture
def heavy(tmp_path, monkeypatch):
    """A module on the path that nobody has imported."""
    (tmp_path / "heavy_module.py").write_text(
        "def make(number):\n    return [number]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "heavy_module"
    sys.modules.pop("heavy_module", None)


def test_imports_at_the_call_only(heavy):
    make = lazy.Constructor(heavy, "make")
    assert heavy not in sys.modules
    assert make(1) == [1]
    assert heavy in sys.modules


def test_a_node_is_starting_until_it_is_built(heavy, tmp_path):
    (tmp_path / "heavy_module.py").write_text(
        "from rlcomponents import pulse\n"
        "was_starting = pulse.current().is_starting\n"
        "def make():\n"
        "    return was_starting and pulse.current().is_starting\n"
    )
    assert lazy.Constructor(heavy, "make")()
    assert not pulse.current().is_starting


def test_travels_to_another_process_without_the_module(heavy):
    travelled = pickle.loads(pickle.dumps(lazy.Constructor(heavy, "make")))
    assert heavy not in sys.modules
    assert travelled(2) == [2]


def test_a_function_that_is_not_there_is_named(heavy):
    with pytest.raises(AttributeError, match="mkae"):
        lazy.Constructor(heavy, "mkae")()
