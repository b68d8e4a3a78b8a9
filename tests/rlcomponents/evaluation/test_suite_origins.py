"""Tests of what runs say that they were made with."""

import pytest

from rlcomponents.evaluation import suite_origins

NEW = suite_origins.Origin("Python 3.10", "2 cores of A", "2026-11-30", "abc123")
OLD = suite_origins.Origin("Python 3.9", "8 cores of B", "2020-01-01")


def paths_of(folder, *origins):
    paths = [folder / f"catch-{seed}" for seed in range(len(origins))]
    for path, origin in zip(paths, origins, strict=True):
        path.mkdir()
        if origin is not None:
            suite_origins.write(path, origin)
    return paths


@pytest.mark.parametrize(
    ("origins", "words"),
    [
        ([NEW, NEW], "Python 3.10, on 2 cores of A, commit abc123."),
        ([OLD], "Python 3.9, on 8 cores of B."),
        (
            [NEW, OLD, NEW],
            "2 runs: Python 3.10, on 2 cores of A, commit abc123. "
            "1 run: Python 3.9, on 8 cores of B.",
        ),
        (
            [None, OLD, None],
            "1 run: Python 3.9, on 8 cores of B. 2 runs: no record of what made them.",
        ),
        ([None], "1 run: no record of what made it."),
        ([NEW, NEW._replace(date="2027-01-01")], "Python 3.10, on 2 cores of A, "),
        ([], ""),
    ],
)
def test_what_differs_is_listed_and_what_is_unknown_is_named(tmp_path, origins, words):
    found = suite_origins.describe(paths_of(tmp_path, *origins))
    assert found.startswith(words)
    assert len(found) == len(words) or words.endswith(", ")


def test_what_was_written_is_read(tmp_path):
    (path,) = paths_of(tmp_path, NEW)
    assert suite_origins.read(path) == NEW
    assert suite_origins.read(tmp_path) is None


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '{"versions": "Python"}'])
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, text):
    (tmp_path / suite_origins.FILE).write_text(text)
    with pytest.raises(ValueError, match=r"origin\.json does not say what a run"):
        suite_origins.read(tmp_path)
