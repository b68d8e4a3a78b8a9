"""Saved states cut anew for another number of shards."""

import numpy as np
import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, saved_states, shard, update_rules

SETTINGS = {
    "rule": update_rules.Adam(),
    "learning_rate": schedules.Constant(0.1),
    "max_staleness_updates": 5,
    "target_period_updates": 2,
}
INITIAL = np.arange(7, dtype=np.float32)
LAYOUT = layouts.ParameterLayout(["w"], [(7,)])


def make_states(num_shards, updates=3):
    """Returns states of shards that hold `INITIAL`, changed by some updates."""
    states = []
    for part in LAYOUT.shard_slices(num_shards):
        made = shard.ParameterShard(**SETTINGS)
        made.initialise(INITIAL[part].tobytes())
        for update in range(updates):
            made.push((INITIAL[part] - update).tobytes(), 0, update, 4)
        states.append(made.save())
    return states


def joined(states, name):
    return np.concatenate([state[name] for state in states]).tolist()


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 5), (4, 1)])
def test_states_cut_anew_are_those_of_as_many_shards(before, after):
    found = saved_states.recut(make_states(before), after)
    for state, expected in zip(found, make_states(after), strict=True):
        assert state.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(state[name], value)


def test_values_lie_where_the_parameters_lie():
    states = [
        {
            "epoch": 0,
            "parameters": np.float32([0, 1, 2]),
            "slots/m": np.float32([5, 6, 7]),
        },
        {"epoch": 0, "parameters": np.float32([3, 4]), "slots/m": np.float32([8, 9])},
    ]
    first, second, third = saved_states.recut(states, 3)
    assert first["parameters"].tolist() == [0, 1]
    assert second["parameters"].tolist() == [2, 3]
    assert third["parameters"].tolist() == [4]
    assert [each["slots/m"].tolist() for each in (first, second, third)] == [
        [5, 6],
        [7, 8],
        [9],
    ]


def test_counts_are_those_of_shard_0_and_the_epoch_is_the_latest():
    states = make_states(2)
    states[0] |= {"epoch": 1, "updates": 30, "steps": 99, "slots/count": np.float32(30)}
    states[1] |= {"epoch": 4, "updates": 28, "steps": 97, "slots/count": np.float32(28)}
    for state in saved_states.recut(states, 3):
        found = [state[name] for name in ("epoch", "updates", "steps", "slots/count")]
        assert found == [4, 30, 99, 30]


def test_as_many_as_there_are_stay_as_they_are():
    states = make_states(2)
    states[1]["updates"] = 1
    found = saved_states.recut(states, 2)
    assert [state["updates"] for state in found] == [3, 1]


def test_a_store_goes_on_from_states_cut_anew():
    store = local_store.LocalStore(LAYOUT, **SETTINGS)
    [state] = saved_states.recut(make_states(3), 1)
    store.restore(state)
    snapshot = store.pull()
    assert snapshot.versions == (core.Version(1, 3),)
    assert snapshot.steps == 12
    assert snapshot.vector.tolist() == joined(make_states(3), "parameters")
    target = store.pull(target=True).vector.tolist()
    assert target == joined(make_states(3), "target_parameters")


def test_states_without_parameters_give_their_counts_to_all():
    made = shard.ParameterShard(**SETTINGS)
    made.add_steps(8)
    found = saved_states.recut([made.save()], 3)
    assert [state["steps"] for state in found] == [8] * 3


@pytest.mark.parametrize(
    ("states", "num_shards", "message"),
    [
        ([], 1, "no saved states"),
        (make_states(2), 8, "8 parameter shards: give 1 to 7"),
        ([make_states(2)[0], {"epoch": 0}], 1, "arrays that others do not"),
    ],
)
def test_what_cannot_be_cut_is_refused(states, num_shards, message):
    with pytest.raises(ValueError, match=message):
        saved_states.recut(states, num_shards)


def test_a_target_copy_of_another_size_is_refused():
    state = make_states(1)[0]
    state["target_parameters"] = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="target_parameters are 3 for 7 parameters"):
        shard.ParameterShard(**SETTINGS).restore(state)


def test_parameters_that_are_no_vector_are_refused():
    state = make_states(1)[0]
    state["parameters"] = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"have shape \(2, 3\): not a vector"):
        shard.ParameterShard(**SETTINGS).restore(state)
