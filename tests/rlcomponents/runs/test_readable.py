"""Tests of rlcomponents.runs.readable."""

import pytest

from rlcomponents.runs import readable


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (0.0, "0.00"),
        (-1.236, "-1.24"),
        (78.33, "78.3"),
        (2_500.4, "2,500"),
    ],
)
def test_a_number_has_about_three_digits(value, expected):
    assert readable.short(value) == expected


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [(0, "0 MB"), (431_000_000, "431 MB"), (1_440_000_000, "1.4 GB")],
)
def test_a_size_is_in_mb_or_gb(num_bytes, expected):
    assert readable.in_bytes(num_bytes) == expected


@pytest.mark.parametrize(
    ("secs", "expected"), [(5.9, "0:05"), (75, "1:15"), (3_675, "1:01:15")]
)
def test_a_duration_is_in_minutes_or_hours(secs, expected):
    assert readable.duration(secs) == expected
