"""Tests of rlcomponents.finite."""

import dm_env
import numpy as np
import pytest

from rlcomponents import finite, pulse

NAN, INF = float("nan"), float("inf")


def step(observation=np.zeros(2, np.float32), reward=1.0, discount=1.0):  # noqa: B008
    return dm_env.transition(reward, observation, discount)


@pytest.fixture
def said(monkeypatch):
    """What is shown on the screen, while time stands still unless it is set."""
    lines = []
    monkeypatch.setattr(pulse.current(), "_say", lines.append)
    return lines


@pytest.fixture
def clock(monkeypatch):
    now = {"secs": 0.0}
    monkeypatch.setattr(finite.time, "monotonic", lambda: now["secs"])
    return now


# --------------------------------------------------------------------- what is finite


@pytest.mark.parametrize(
    ("timestep", "problem"),
    [
        (step(reward=NAN), "reward is nan"),
        (step(reward=np.float32(-INF)), "reward is -inf"),
        (step(reward=np.array(NAN)), "reward is nan"),
        # Infinite in float32, in which everything is learned.
        (step(reward=1e39), "reward is 1e+39"),
        (step(discount=INF), "discount is inf"),
        (
            step(np.array([0, NAN, INF], np.float32)),
            "observation is nan in 2 of its 3 values",
        ),
        (step(np.array(NAN)), "observation is nan"),
        (step(np.array([0, INF], np.float16)), "observation is inf in 1 of its 2"),
        (
            step({"eye": np.zeros(3), "ear": [np.zeros(2), np.array([NAN])]}),
            "observation/ear/1 is nan",
        ),
        (
            dm_env.restart(np.array([NAN, 0], np.float32)),
            "observation is nan in 1 of its 2 values",
        ),
    ],
)
def test_what_is_not_finite_is_named(timestep, problem):
    assert finite.describe_timestep(timestep).startswith(problem)


@pytest.mark.parametrize(
    "timestep",
    [
        step(),
        dm_env.restart(np.zeros(2, np.float32)),
        step(np.full((84, 84, 4), 255, np.uint8)),
        step(np.ones((10, 10, 4), bool)),
        step(reward=np.int64(3)),
        # Their sum of squares is infinite; they are not.
        step(np.full(3, 3e38, np.float32), reward=3e38),
        step(np.full(3, 6e4, np.float16)),
        step(np.zeros(0, np.float32)),
        step((np.zeros(2), {"text": "abc"})),
        step(reward=None),  # No number at all, which others refuse.
        step(reward=np.zeros(2)),
    ],
)
def test_what_is_finite_is_not(timestep):
    assert finite.describe_timestep(timestep) is None


# ----------------------------------------------------------------------- how it counts


def test_each_discarded_thing_counts_for_its_node(said):
    watch = finite.Watch()
    left = watch.guard(part="environment 0", advice="mend it")
    right = watch.guard(part="environment 1", advice="mend it")
    for guard in (left, right, left):
        guard.discard("episode 1, step 1", "reward is nan")
    assert watch.count == 3


def test_the_place_and_the_field_are_said(said):
    guard = finite.Watch().guard(advice="mend it")
    guard.discard("episode 12, step 7", "reward is nan")
    assert said == ["episode 12, step 7: reward is nan; discarded (1 so far)."]


def test_it_is_not_said_more_often_than_once_in_ten_seconds(said, clock):
    guard = finite.Watch().guard(advice="mend it")
    for secs in range(21):
        clock["secs"] = float(secs)
        guard.discard(f"episode {secs}, step 0", "reward is nan")
        guard.accept()
    assert [line.partition(": ")[0] for line in said] == [
        "episode 0, step 0",
        "episode 10, step 0",
        "episode 20, step 0",
    ]
    assert said[1].endswith("discarded (11 so far).")


def test_too_many_in_a_row_end_the_program_with_one_sentence(said):
    guard = finite.Watch(max_in_a_row=3).guard(
        part="environment 2", advice="mend the environment"
    )
    for episode in (1, 2):
        guard.discard(f"episode {episode}, step 5", "reward is nan")
    with pytest.raises(pulse.FatalError) as caught:
        guard.discard("episode 3, step 0", "observation is inf")
    assert str(caught.value) == (
        "environment 2, episode 3, step 0: observation is inf, the last of 3 in a row "
        "that were not finite (max_nonfinite_in_a_row): mend the environment."
    )


def test_one_that_is_whole_begins_a_new_row(said):
    guard = finite.Watch(max_in_a_row=2).guard(advice="mend it")
    for _ in range(5):
        guard.discard("episode 1, step 1", "reward is nan")
        guard.accept()


def test_rows_of_several_guards_are_apart(said):
    watch = finite.Watch(max_in_a_row=2)
    for index in range(5):
        guard = watch.guard(part=f"environment {index}", advice="mend it")
        guard.discard("episode 1, step 1", "reward is nan")


def test_a_row_of_none_is_refused():
    with pytest.raises(ValueError, match="max_in_a_row is 0: give at least 1"):
        finite.Watch(max_in_a_row=0)
