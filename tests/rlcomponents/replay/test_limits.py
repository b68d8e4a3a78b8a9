"""Tests of rlcomponents.replay.limits."""

import subprocess
import sys

import pytest

from rlcomponents.replay import limits as replay_limits


def _limits(**settings):
    values = {"max_items": 1000, "min_items": 100, "batch_size": 32} | settings
    return replay_limits.ReplayLimits(**values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(
            {"min_items": 1001},
            "min_items 1001 is above max_items 1000: .* wait for ever",
            id="minimum-above-capacity",
        ),
        pytest.param(
            {"max_items": 16, "min_items": 1},
            "batch_size 32 is above max_items 16: .* never holds a batch",
            id="batch-larger-than-the-table",
        ),
        pytest.param(
            {"samples_per_insert": 4.0, "max_ahead_samples": 31.0},
            "batch_size 32 is above max_ahead_samples 31: .* blocked",
            id="batch-larger-than-the-slack",
        ),
        pytest.param(
            {"samples_per_insert": 64.0, "max_ahead_samples": 63.0},
            "max_ahead_samples 63 is below samples_per_insert 64: a single insert",
            id="slack-smaller-than-one-insert",
        ),
        pytest.param(
            {"samples_per_insert": 0.0},
            "samples_per_insert is 0.0: it must be above 0",
            id="ratio-zero",
        ),
        pytest.param(
            {"samples_per_insert": float("inf")},
            "samples_per_insert is inf: it must be above 0 and finite",
            id="ratio-infinite",
        ),
        pytest.param(
            {"samples_per_insert": float("nan")},
            "samples_per_insert is nan: it must be above 0",
            id="ratio-nan",
        ),
        pytest.param(
            {"samples_per_insert": 4.0, "max_ahead_samples": float("nan")},
            "max_ahead_samples is nan: it must be a number",
            id="slack-nan",
        ),
        pytest.param(
            {"max_ahead_samples": 64.0},
            "no samples_per_insert to be ahead of",
            id="slack-without-ratio",
        ),
        pytest.param({"batch_size": 0}, "batch_size is 0", id="empty-batch"),
        pytest.param({"min_items": 0}, "min_items is 0", id="no-minimum"),
    ],
)
def test_settings_that_would_wait_for_ever_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        _limits(**settings)


def test_without_a_ratio_only_the_minimum_applies():
    limits = _limits()
    assert limits.samples_per_insert is None
    with pytest.raises(ValueError, match="no slack"):
        _ = limits.slack_samples


@pytest.mark.parametrize(
    ("settings", "slack"),
    [
        pytest.param({"samples_per_insert": 8.0}, 80.0, id="a-tenth"),  # 0.1 * 8 * 100
        pytest.param({"samples_per_insert": 1.0}, 64.0, id="two-batches"),
        pytest.param(
            {"samples_per_insert": 50.0, "min_items": 1}, 100.0, id="two-inserts"
        ),
        pytest.param(
            {"samples_per_insert": 8.0, "max_ahead_samples": 40.0}, 40.0, id="given"
        ),
    ],
)
def test_slack_has_room_for_batches_and_inserts(settings, slack):
    assert _limits(**settings).slack_samples == slack


def test_limits_are_checked_without_reverb_or_tensorflow():
    code = (
        "import sys;"
        "from rlcomponents.replay import limits, transitions, n_step, layout;"
        "assert not {'reverb', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
