"""Tests of what may be filmed."""

import numpy as np
import pytest

from rlcomponents.evaluation import screens


def test_a_screen_passes_as_it_is():
    screen = np.zeros((1, 2, 3), np.uint8)
    assert screens.check(screen, like=np.ones((1, 2, 3), np.uint8)) is screen


@pytest.mark.parametrize(
    ("screen", "given"),
    [
        (None, "NoneType"),
        ([[[0, 0, 0]]], "list"),
        (np.zeros((4, 5, 3)), r"float64 of shape \(4, 5, 3\)"),
        (np.zeros((4, 5), np.uint8), r"uint8 of shape \(4, 5\)"),
        (np.zeros((4, 5, 4), np.uint8), r"uint8 of shape \(4, 5, 4\)"),
        (np.zeros((0, 5, 3), np.uint8), r"uint8 of shape \(0, 5, 3\)"),
    ],
)
def test_what_is_no_screen_is_refused(screen, given):
    with pytest.raises(ValueError, match=rf"screen\(\) returned {given}: it must"):
        screens.check(screen)


def test_another_size_in_one_film_is_refused():
    with pytest.raises(ValueError, match=r"shape \(4, 5, 3\) after \(4, 4, 3\)"):
        screens.check(np.zeros((4, 5, 3), np.uint8), like=np.zeros((4, 4, 3), np.uint8))
