"""Tests of rlcomponents.environments.area_scaling."""

import cv2
import numpy as np
import pytest

from rlcomponents.environments import area_scaling


@pytest.mark.parametrize("height", [210, 250])  # Of NTSC and of PAL.
@pytest.mark.parametrize("make", ["noise", "black and white", "white"])
def test_a_screen_is_what_opencv_makes_of_the_maximum(height, make):
    scaler = area_scaling.AreaScaler(height, 160, 84)
    rng = np.random.default_rng(0)
    for _ in range(50):
        screens = rng.integers(256, size=(2, height, 160), dtype=np.uint8)
        if make != "noise":
            screens = np.where(screens > 127, np.uint8(255), np.uint8(0))
        if make == "white":
            screens[:] = 255
        expected = cv2.resize(
            screens.max(axis=0), (84, 84), interpolation=cv2.INTER_AREA
        )
        before = screens.copy()
        np.testing.assert_array_equal(scaler.scale(*screens), expected)
        np.testing.assert_array_equal(screens, before)


def test_pixels_are_weighed_by_the_area_that_they_share():
    # 3 pixels become 2: each is one whole pixel and half of the middle one.
    scaler = area_scaling.AreaScaler(3, 3, 2)
    screen = np.array([[0, 30, 90], [0, 30, 90], [60, 120, 180]], np.uint8)
    # Lines: (0 + 15) / 1.5 = 10 and (15 + 90) / 1.5 = 70; the last 80 and 160.
    expected = [[10, 70], [(5 + 80) / 1.5, (35 + 160) / 1.5]]
    np.testing.assert_array_equal(scaler.scale(screen, screen), np.rint(expected))


def test_each_frame_is_a_new_array():
    scaler = area_scaling.AreaScaler(210, 160, 84)
    black, white = np.zeros((210, 160), np.uint8), np.full((210, 160), 255, np.uint8)
    frame = scaler.scale(black, black)
    scaler.scale(white, white)
    assert not frame.any()


@pytest.mark.parametrize(("height", "width"), [(84, 160), (210, 84), (210, 168)])
def test_screens_that_are_too_small_or_too_wide_are_refused(height, width):
    with pytest.raises(ValueError, match="cannot be scaled to 84"):
        area_scaling.AreaScaler(height, width, 84)
